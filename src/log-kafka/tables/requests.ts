/**
 * Sends requests between processes and serves them, over two Kafka topics that are read from their ends. The sender repeats
 * a request each second while its caller waits, so a lost record or a change of server does no harm. A server drops requests
 * that are no longer repeated.
 */
import { randomUUID } from 'node:crypto'
import { aborted } from '../../lifecycle/aborted.ts'
import { sleep } from '../../lifecycle/clock.ts'
import { LONGEST_REQUEST, type RequestHandler } from '../../log/requests.ts'
import { checkRequest, checkResponse } from '../../log-shared/local-requests.ts'
import type { LogParts } from '../client/connection.ts'
import { PartitionWriter } from '../client/partition-writer.ts'
import { TextAssembly, textRecords } from '../client/text-parts.ts'
import { abortable } from '../client/with-timeout.ts'
import { readPartition } from '../reading/partition-reader.ts'

const REPEAT_MS = 1_000
/** A request that was not repeated for so long is dropped, ms. */
const LEASE_MS = 3_500
/** Most requests that are handled at a time; others wait for their next repetition. */
const MOST_AT_ONCE = 1_000

/** Names of the topics in the cluster. */
export interface RequestTopics {
  requests: string
  responses: string
}

/** Sends requests and waits for their responses. */
export class RequestSender {
  readonly #parts: LogParts
  readonly #topics: RequestTopics
  readonly #writer: PartitionWriter
  readonly #waiting = new Map<string, { assembly: TextAssembly; resolve(response: string): void }>()
  /** Resolves when the end of the topic of responses was found. */
  readonly #listening = Promise.withResolvers<void>()

  constructor(parts: LogParts, topics: RequestTopics) {
    this.#parts = parts
    this.#topics = topics
    this.#writer = new PartitionWriter(parts, topics.requests, parts.closed)
  }

  /** As `Requests.send`. */
  async send(request: string, signal: AbortSignal): Promise<string> {
    checkRequest(request)
    const stopped = AbortSignal.any([signal, this.#parts.closed])
    stopped.throwIfAborted()
    const id = randomUUID()
    const { promise, resolve } = Promise.withResolvers<string>()
    this.#waiting.set(id, { assembly: new TextAssembly(), resolve })
    try {
      await abortable(stopped, this.#listening.promise)
      for (;;) {
        await abortable(stopped, this.#writer.write({ partition: 0, key: id, value: request }))
        const response = await Promise.race([promise, sleep(this.#parts.clock, REPEAT_MS, stopped)])
        stopped.throwIfAborted()
        if (response !== undefined) return response
      }
    } finally {
      this.#waiting.delete(id)
    }
  }

  /** Reads responses until the signal aborts, then resolves. */
  async run(signal: AbortSignal): Promise<void> {
    for await (const { records } of readPartition(this.#parts, this.#topics.responses, 'end', signal)) {
      for (const record of records) {
        const sent = this.#waiting.get(`${record.key}`)
        const response = sent?.assembly.take(record) ?? null
        if (response !== null) sent?.resolve(response)
      }
      this.#listening.resolve()
    }
  }
}

/** As `Requests.serve`. */
export async function serveRequests(
  parts: LogParts,
  topics: RequestTopics,
  handle: RequestHandler,
  signal: AbortSignal,
): Promise<void> {
  const over = new AbortController()
  const ended = AbortSignal.any([signal, parts.closed, over.signal])
  const server = new RequestServer(parts, { handle, topic: topics.responses, ended })
  const reading = (async () => {
    for await (const { records } of readPartition(parts, topics.requests, 'end', ended)) {
      for (const { key, value } of records) {
        const request = value?.toString('utf8') ?? ''
        if (key !== null && request.length <= LONGEST_REQUEST) server.take(key.toString(), request)
      }
    }
  })()
  try {
    await Promise.race([aborted(ended), server.failed])
  } finally {
    over.abort()
    await reading
  }
}

/** Handles requests; a repeated one only renews its lease. */
class RequestServer {
  readonly #parts: LogParts
  readonly #handle: RequestHandler
  readonly #ended: AbortSignal
  readonly #writer: PartitionWriter
  readonly #failure = Promise.withResolvers<never>()
  /** Renews the lease of each request in progress, by its id. */
  readonly #renewals = new Map<string, () => void>()

  constructor(parts: LogParts, how: { handle: RequestHandler; topic: string; ended: AbortSignal }) {
    this.#parts = parts
    this.#handle = how.handle
    this.#ended = how.ended
    this.#writer = new PartitionWriter(parts, how.topic, how.ended)
  }

  /** Rejects with what the handler throws. */
  get failed(): Promise<never> {
    return this.#failure.promise
  }

  take(id: string, request: string): void {
    const renew = this.#renewals.get(id)
    if (renew !== undefined) return renew()
    if (this.#renewals.size >= MOST_AT_ONCE) return
    const { clock } = this.#parts
    const expired = new AbortController()
    const expire = (): void => expired.abort()
    let cancel = clock.after(LEASE_MS, expire)
    this.#renewals.set(id, () => {
      cancel()
      cancel = clock.after(LEASE_MS, expire)
    })
    void this.#respond(id, request, AbortSignal.any([expired.signal, this.#ended])).finally(() => {
      cancel()
      this.#renewals.delete(id)
    })
  }

  async #respond(id: string, request: string, signal: AbortSignal): Promise<void> {
    let text: string
    try {
      text = await this.#handle(request, signal)
      if (signal.aborted) return
      checkResponse(text)
    } catch (error) {
      if (!signal.aborted) this.#failure.reject(error)
      return
    }
    try {
      await Promise.all(textRecords(id, text, randomUUID()).map((record) => this.#writer.write(record)))
    } catch (error) {
      // The sender repeats the request.
      if (!this.#ended.aborted) this.#parts.logger.warn('log.unavailable', { error })
    }
  }
}
