/**
 * Reads the stream as a client whose connection is cut at random moments, also in mid-frame and after it read nothing for a
 * while. It reconnects with its last cursor and records what it received, in order.
 */
import { Agent, type IncomingMessage, request } from 'node:http'
import type { Socket } from 'node:net'
import type { SeededChance } from '../../../src/core/chance.ts'
import { decodeCursor } from '../../../src/core/cursor.ts'
import type { Filter } from '../../../src/core/filter/filter.ts'
import { bearer } from '../http/api-client.ts'
import { FIN, frame, OPCODES } from './raw-stream.ts'
import { type MessageParser, messageParser, type StreamMessage, type Wire } from './stream-messages.ts'

/** An event as received. */
export interface Taken {
  id: string
  epoch: string
  sequence: number
}

/** A reader's change from one epoch to another. */
export interface Move {
  /** Its cursor before the change. */
  from: string
  /** Whether the first message of the new epoch was the gap that announces the change. */
  isTold: boolean
}

/** The history of one reader. */
export interface ReaderCounts {
  /** The cuts that it made itself. */
  cuts: number
  /** Connections that were accepted. */
  lives: number
  /** Times when it read nothing for a while. */
  rests: number
  /** Counts by close code, HTTP status or other end of a connection. */
  ends: Record<string, number>
}

/** Which reader. */
export interface CutReaderOptions {
  /** Base addresses of the bridge's nodes; each connection goes to any of them. */
  urls: readonly string[]
  wire: Wire
  filter: Filter
  /** Ms after `start`, rising; a cut that finds no connection waits for the next one. */
  cutsAtMs: readonly number[]
  chance: SeededChance
}

/** The most bytes that still pass before the cut. */
const CUT_WITHIN_BYTES = 8000
/** The timeout if fewer arrive. */
const CUT_WITHIN_MS = 500
const REST_SHARE = 0.15
const LONGEST_REST_MS = 1500
/** The delay before it reconnects, also if no server responded. */
const LONGEST_AWAY_MS = { cut: 150, refused: 1500 }
/** Responses that mean: retry later; 408 occurs if this machine was too busy to complete a request. */
const LATER = [408, 429, 503]

/** One reader, from `start` to `stop`. */
export class CutReader {
  readonly options: CutReaderOptions
  /** Events of the logs; the notices of a node are none. */
  readonly taken: Taken[] = []
  readonly moves: Move[] = []
  readonly counts: ReaderCounts = { cuts: 0, lives: 0, rests: 0, ends: {} }
  /** Sentences on responses and messages that should never occur. */
  readonly complaints: string[] = []
  readonly #agent = new Agent({ keepAlive: false })
  readonly #timers = new Set<NodeJS.Timeout>()
  #cursor: string | null = null
  /** Of the cursor. */
  #epoch: string | null = null
  #life: Life | null = null
  /** Cuts that are due and not made yet. */
  #cutsDue = 0
  #isStopped = false

  constructor(options: CutReaderOptions) {
    this.options = options
  }

  /** Whether it has been cut as often as it should. */
  get isThroughCuts(): boolean {
    return this.counts.cuts === this.options.cutsAtMs.length
  }

  /** The last resume point that it took; null before the first. */
  get cursor(): string | null {
    return this.#cursor
  }

  start(): void {
    for (const atMs of this.options.cutsAtMs) {
      this.#later(atMs, () => {
        this.#cutsDue += 1
        this.#life?.cutSoon()
      })
    }
    this.#connect()
  }

  /** Disconnects for good. */
  stop(): void {
    this.#isStopped = true
    for (const timer of this.#timers) clearTimeout(timer)
    this.#life?.end('stop')
    this.#agent.destroy()
  }

  #connect(): void {
    const { urls, wire, filter, chance } = this.options
    const life = new Life(wire, {
      chance,
      later: (ms, act) => this.#later(ms, act),
      greeting: () => this.#subscribe(),
      take: (message) => this.#take(message),
      onOpen: () => {
        this.counts.lives += 1
        if (this.#cutsDue > 0) life.cutSoon()
      },
      onRest: () => {
        this.counts.rests += 1
      },
      onEnd: (why) => this.#onEnd(why),
    })
    this.#life = life
    life.connect(
      this.#agent,
      new URL(wire === 'sse' ? ssePath(filter, this.#cursor) : '/v1/stream', chance.pick(urls)),
      {
        ...bearer,
        ...(wire === 'sse' && this.#cursor !== null && { 'Last-Event-ID': this.#cursor }),
      },
    )
  }

  #subscribe(): string {
    const from = this.#cursor === null ? 'earliest' : { after: this.#cursor }
    return JSON.stringify({ action: 'subscribe', filter: this.options.filter, from, onGap: 'earliest' })
  }

  #take(message: StreamMessage): void {
    if (message.kind === 'error') this.complaints.push(`was told: ${message.detail}`)
    if (message.kind === 'cursor') this.#hold(message.cursor, decodeCursor(message.cursor).epoch, false)
    if (message.kind !== 'event') return
    const { id, epoch, sequence, cursor, data } = message.event
    const isNotice = data.cause === 'epoch'
    if (!isNotice) this.taken.push({ id, epoch, sequence: Number(sequence) })
    this.#hold(cursor, epoch, isNotice)
  }

  #hold(cursor: string, epoch: string, isNotice: boolean): void {
    if (this.#cursor !== null && this.#epoch !== epoch)
      this.moves.push({ from: this.#cursor, isTold: isNotice })
    this.#cursor = cursor
    this.#epoch = epoch
  }

  #onEnd(why: string): void {
    this.#life = null
    this.counts.ends[why] = (this.counts.ends[why] ?? 0) + 1
    if (why === 'cut') {
      this.counts.cuts += 1
      this.#cutsDue -= 1
    }
    if (this.#isStopped) return
    if (isForGood(why)) {
      this.complaints.push(`was sent away for good: ${why}`)
      return
    }
    const { chance } = this.options
    this.#later(chance.between(0, LONGEST_AWAY_MS[why === 'cut' ? 'cut' : 'refused']), () => this.#connect())
  }

  #later(ms: number, act: () => void): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer)
      act()
    }, ms)
    this.#timers.add(timer)
  }
}

/** Close codes 4000 to 4099, faults, and every refusal that does not pass. */
function isForGood(why: string): boolean {
  const code = Number(why)
  const isRefused = (code >= 400 && code < 600 && !LATER.includes(code)) || (code > 1005 && code < 4100)
  return isRefused || why.startsWith('unreadable')
}

function ssePath(filter: Filter, cursor: string | null): string {
  const query = new URLSearchParams({ filter: JSON.stringify(filter) })
  if (cursor === null) query.set('since', '2000-01-01')
  return `/v1/events?${query}`
}

interface LifeParts {
  chance: SeededChance
  later(ms: number, act: () => void): void
  /** The first frame of a WebSocket. */
  greeting(): string
  take(message: StreamMessage): void
  onOpen(): void
  onRest(): void
  /** Told once: `cut`, `stop`, a close code, an HTTP status, `broken`, or `unreadable` with the fault. */
  onEnd(why: string): void
}

/** One connection. */
class Life {
  readonly #wire: Wire
  readonly #parts: LifeParts
  readonly #parse: MessageParser
  #abandon: (hard: boolean) => void = () => {}
  #stream: IncomingMessage | Socket | null = null
  /** Bytes left before the cut; null while none is due. */
  #bytesLeft: number | null = null
  #closeCode = 'broken'
  #isOver = false

  constructor(wire: Wire, parts: LifeParts) {
    this.#wire = wire
    this.#parts = parts
    this.#parse = messageParser(wire)
  }

  connect(agent: Agent, url: URL, headers: Record<string, string>): void {
    const upgrade = {
      connection: 'Upgrade',
      upgrade: 'websocket',
      'sec-websocket-version': '13',
      'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
      'sec-websocket-protocol': this.#wire,
    }
    const asking = request(url, { agent, headers: { ...headers, ...(this.#wire !== 'sse' && upgrade) } })
    this.#abandon = (hard) => {
      if (hard) asking.socket?.resetAndDestroy()
      asking.destroy()
    }
    asking.on('error', () => this.end('broken'))
    asking.on('response', (answer) => {
      if (answer.statusCode === 200) return this.#read(answer)
      answer.resume()
      this.end(String(answer.statusCode))
    })
    asking.on('upgrade', (_answer, socket, head) => {
      this.#abandon = (hard) => (hard ? socket.resetAndDestroy() : socket.destroy())
      socket.write(frame(FIN | OPCODES.text, this.#parts.greeting()))
      this.#read(socket)
      if (head.length > 0) this.#onBytes(head)
    })
    asking.end()
  }

  /** Cuts at a random byte or moment, sometimes after a pause. */
  cutSoon(): void {
    if (this.#isOver || this.#stream === null || this.#bytesLeft !== null) return
    const { chance, later, onRest } = this.#parts
    const restMs = chance.yes(REST_SHARE) ? chance.between(0, LONGEST_REST_MS) : 0
    this.#bytesLeft = chance.between(0, CUT_WITHIN_BYTES)
    if (restMs > 0) {
      onRest()
      this.#stream.pause()
      later(restMs, () => this.#stream?.resume())
    }
    later(restMs + chance.between(0, CUT_WITHIN_MS), () => this.end('cut'))
  }

  /** Breaks the connection. Only the first reason counts. */
  end(why: string): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#abandon(why === 'cut' && this.#parts.chance.yes(0.5))
    this.#parts.onEnd(why)
  }

  #read(stream: IncomingMessage | Socket): void {
    this.#stream = stream
    stream.on('data', (bytes: Buffer) => this.#onBytes(bytes))
    stream.on('error', () => {})
    stream.on('close', () => this.end(this.#closeCode))
    this.#parts.onOpen()
  }

  #onBytes(bytes: Buffer): void {
    if (this.#isOver) return
    const part = this.#bytesLeft === null ? bytes : bytes.subarray(0, this.#bytesLeft)
    try {
      for (const message of this.#parse(part)) this.#hear(message)
    } catch (error) {
      this.end(`unreadable: ${error}`)
    }
    if (this.#bytesLeft === null) return
    this.#bytesLeft -= part.length
    if (this.#bytesLeft === 0) this.end('cut')
  }

  #hear(message: StreamMessage): void {
    if (message.kind === 'close') this.#closeCode = String(message.code)
    else if (message.kind !== 'ping') this.#parts.take(message)
    else if (this.#stream !== null && 'write' in this.#stream)
      this.#stream.write(frame(FIN | OPCODES.pong, message.payload))
  }
}
