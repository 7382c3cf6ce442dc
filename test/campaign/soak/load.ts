/**
 * Keeps a bridge busy as its users do: webhook endpoints, one of them failing, WebSocket and SSE readers that come and go,
 * a pull reader, and someone at the console.
 */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { WebSocket } from 'ws'
import { contentHash } from '../../../src/core/disclosure.ts'
import { ADMIN_TOKEN } from '../../support/bridge-process.ts'
import { type ApiEvent, bearer, readSse } from '../../support/http/api-client.ts'
import { askEndpoints } from '../../support/webhooks/endpoint-api.ts'
import { readJson } from './process.ts'

/** A reader stays so long and comes back from its cursor. */
const STAY_MS = 5 * 60_000
const RETRY_MS = 1_000
const CONSOLE_EVERY_MS = 10_000
const PULL_WAIT_S = 20
const REASON_CHARACTERS = 160

/** What the readers have had. */
export interface LoadCounts {
  pulled: number
  webSocket: number
  sse: number
  delivered: number
  deliveredAgain: number
  refusedPosts: number
  consoleLooks: number
  reconnects: number
}

/** Everything that a pull reader was given from the start of the log. */
export interface PullRecord {
  /** How often each content came, by guid and hash. */
  seen: Map<string, number>
  /** Ids of events that this run owes to the endpoint for everything. */
  owed: Set<string>
  /** Sequences that did not follow the one before. */
  holes: string[]
}

/** The users of one installation, until the signal aborts. */
export class SoakLoad {
  readonly counts: LoadCounts = {
    ...{ pulled: 0, webSocket: 0, sse: 0, delivered: 0, deliveredAgain: 0 },
    ...{ refusedPosts: 0, consoleLooks: 0, reconnects: 0 },
  }
  readonly record: PullRecord = { seen: new Map(), owed: new Set(), holes: [] }
  /** Ids that the endpoint for everything has taken, by this run. */
  readonly taken = new Set<string>()
  /** What a reader should never see. */
  readonly broken: string[] = []
  /** Why readers had to come back, and how often: restarts, a broker that is away. */
  readonly failures = new Map<string, number>()
  #owedAfter = 0
  readonly #base: () => string
  readonly #signal: AbortSignal

  /** `base`: the address of the API. */
  constructor(base: () => string, signal: AbortSignal) {
    this.#base = base
    this.#signal = signal
  }

  /** Starts every user; rejects only where the endpoints cannot be made, or the signal has aborted. */
  async start(): Promise<void> {
    this.#signal.throwIfAborted()
    const receiver = await this.#receive()
    const { data } = await readJson<{ data: { id: string }[] }>(`${this.#base()}/v1/webhooks`, {
      headers: bearer,
    })
    // The receiver's port is new in each run.
    for (const { id } of data) await askEndpoints(this.#base(), 'DELETE', `/${id}`)
    const { log } = await readJson<{ log: { latest: number | null } }>(`${this.#base()}/v1/status`, {
      headers: bearer,
    })
    this.#owedAfter = Number(log.latest ?? 0)
    const make = (path: string, filter: object): Promise<unknown> =>
      askEndpoints(this.#base(), 'POST', '', { url: `${receiver}/${path}`, description: path, filter })
    await make('everything', {})
    await make('important', { importance: 'high+' })
    await make('failing', {})
    void this.#again(() => this.#pull())
    void this.#again(() => this.#webSocket())
    void this.#again(() => this.#sse())
    void this.#again(() => this.#look(), CONSOLE_EVERY_MS)
  }

  /** Repeats what ends or fails: a restart, a broker that is away. */
  async #again(work: () => Promise<void>, pauseMs = RETRY_MS): Promise<void> {
    while (!this.#signal.aborted) {
      await work().catch((error: Error) => {
        this.counts.reconnects += 1
        const reason = `${error.message} ${error.cause ?? ''}`
          .replaceAll(/\d{4,}/g, 'N')
          .slice(0, REASON_CHARACTERS)
        this.failures.set(reason, (this.failures.get(reason) ?? 0) + 1)
      })
      await sleep(pauseMs, undefined, { signal: this.#signal }).catch(() => undefined)
    }
  }

  async #receive(): Promise<string> {
    const server = createServer((request, response) => {
      const chunks: Buffer[] = []
      request.on('data', (chunk: Buffer) => chunks.push(chunk))
      request.on('end', () => {
        if (request.url === '/failing') {
          this.counts.refusedPosts += 1
          response.writeHead(500).end()
          return
        }
        if (request.url === '/everything') this.#take(Buffer.concat(chunks).toString())
        response.writeHead(204).end()
      })
    })
    this.#signal.addEventListener('abort', () => {
      server.close()
      server.closeAllConnections()
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening', { signal: this.#signal })
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  }

  #take(body: string): void {
    const { id } = JSON.parse(body) as { id: string }
    if (this.taken.has(id)) this.counts.deliveredAgain += 1
    else this.counts.delivered += 1
    this.taken.add(id)
  }

  #cursor: string | null = null
  #lastPulled = 0

  /** Reads every event from the start of the log, waiting for more at its end. */
  async #pull(): Promise<void> {
    while (!this.#signal.aborted) {
      const after = this.#cursor === null ? '' : `&after=${this.#cursor}`
      const url = `${this.#base()}/v1/disclosures?limit=500&wait=${PULL_WAIT_S}${after}`
      const page = await readJson<{ data: ApiEvent[]; cursor: string }>(url, { headers: bearer })
      for (const event of page.data) this.#note(event)
      this.#cursor = page.cursor
    }
  }

  #note(event: ApiEvent): void {
    const sequence = Number(event.sequence)
    if (sequence !== this.#lastPulled + 1) this.record.holes.push(`${this.#lastPulled} → ${sequence}`)
    this.#lastPulled = sequence
    this.counts.pulled += 1
    if (event.type.startsWith('bridge.')) return
    const key = `${String(event.data.guid)} ${contentHash(event.data)}`
    this.record.seen.set(key, (this.record.seen.get(key) ?? 0) + 1)
    if (sequence > this.#owedAfter) this.record.owed.add(event.id)
  }

  #webSocketCursor: string | null = null
  #webSocketLast = 0

  async #webSocket(): Promise<void> {
    const socket = new WebSocket(`${this.#base().replace('http', 'ws')}/v1/stream`, {
      headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
    })
    const leave = (): void => socket.close()
    const stay = setTimeout(leave, STAY_MS)
    this.#signal.addEventListener('abort', leave, { once: true })
    socket.on('open', () => {
      const from = this.#webSocketCursor === null ? 'earliest' : { after: this.#webSocketCursor }
      socket.send(JSON.stringify({ action: 'subscribe', id: '1', filter: {}, from }))
    })
    socket.on('message', (data) => {
      const { event } = JSON.parse(String(data)) as { event?: ApiEvent }
      if (event === undefined) return
      const sequence = Number(event.sequence)
      // At least once: what a reader is given again it had before.
      if (sequence > this.#webSocketLast + 1)
        this.broken.push(`WebSocket: ${sequence} after ${this.#webSocketLast}`)
      if (sequence > this.#webSocketLast) this.counts.webSocket += 1
      this.#webSocketLast = Math.max(this.#webSocketLast, sequence)
      this.#webSocketCursor = event.cursor
    })
    socket.on('error', () => socket.terminate())
    await once(socket, 'close')
    clearTimeout(stay)
    this.#signal.removeEventListener('abort', leave)
  }

  #sseId = ''

  async #sse(): Promise<void> {
    const leave = AbortSignal.any([this.#signal, AbortSignal.timeout(STAY_MS)])
    const note = ({ event, id }: { event: string; id: string }): void => {
      if (event === 'disclosure' || event === 'gap') this.counts.sse += 1
      if (id !== '') this.#sseId = id
    }
    const headers: Record<string, string> = this.#sseId === '' ? {} : { 'last-event-id': this.#sseId }
    await readSse(`${this.#base()}/v1/events?importance=high%2B`, note, leave, headers)
  }

  /** What a page of the console asks for. */
  async #look(): Promise<void> {
    const paths = [
      'status',
      'report?days=3',
      'disclosures?tail=50',
      'disclosures?tail=20&q=results',
      'webhooks',
    ]
    for (const path of paths) await readJson(`${this.#base()}/v1/${path}`, { headers: bearer })
    const { data } = await readJson<{ data: { id: string }[] }>(`${this.#base()}/v1/webhooks`, {
      headers: bearer,
    })
    for (const { id } of data)
      await readJson(`${this.#base()}/v1/webhooks/${id}/attempts?limit=20`, { headers: bearer })
    this.counts.consoleLooks += 1
  }
}
