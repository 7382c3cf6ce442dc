/**
 * Appends to the partitions of one topic outside transactions: batches concurrent appends into one request, and repeats
 * what may not have arrived, so a record may be stored twice.
 */
import { type Clock, sleep } from '../../lifecycle/clock.ts'
import { LARGEST_BATCH_BYTES, recordBytes } from './batch-splitting.ts'
import type { KafkaSession, OpenSession } from './client.ts'
import { isFinalRefusal, unavailable } from './faults.ts'
import type { NewRecord } from './records.ts'
import { withTimeout } from './with-timeout.ts'

/** Most bytes of a request, over all partitions. */
const REQUEST_BYTES = 4 * 1024 * 1024
/** Limit of a request, ms: kafkajs's own limits end it before. */
const REQUEST_LIMIT_MS = 15_000
/** A record without an acknowledgement by then is reported as failed, though it may still become durable, ms. */
const WRITE_LIMIT_MS = 10_000
const FIRST_PAUSE_MS = 20
const LONGEST_PAUSE_MS = 500

/** Records of one partition that are appended together: all or none of them are kept. */
export interface Append {
  partition: number
  /** At most LARGEST_BATCH_BYTES, unless it is a single record. */
  records: readonly NewRecord[]
  /** True: it is sent at most once. */
  once: boolean
  /** True when nobody waits for it any more: it is not sent, or not again. */
  isCancelled(): boolean
  /** Called when it may not have arrived; it is sent again unless it is cancelled, or to be sent once. */
  onFailure(error: unknown): void
  /** Called with the offset of its first record when it is durable. */
  onAppended?(offset: number): void
}

interface Queued extends Append {
  bytes: number
}

/** A writer that connects with its first record and ends when `ended` aborts. */
export class PartitionWriter {
  readonly #openSession: OpenSession
  readonly #clock: Clock
  readonly #topic: string
  readonly #ended: AbortSignal
  readonly #queues = new Map<number, Queued[]>()
  #session: KafkaSession | null = null
  #isSending = false

  constructor(
    { openSession, clock }: { openSession: OpenSession; clock: Clock },
    topic: string,
    ended: AbortSignal,
  ) {
    this.#openSession = openSession
    this.#clock = clock
    this.#topic = topic
    this.#ended = ended
    ended.addEventListener('abort', () => this.#disconnect(), { once: true })
  }

  /**
   * Resolves with the record's offset when it is durable.
   * @throws BridgeError `log_unavailable`, after 10 s at most, when it may or may not become durable, or is refused
   */
  async write(record: NewRecord): Promise<number> {
    const { promise, resolve, reject } = Promise.withResolvers<number>()
    let isOver = false
    let fault: unknown = null
    this.append({
      partition: record.partition,
      records: [record],
      once: false,
      isCancelled: () => isOver,
      onAppended: resolve,
      onFailure: (error) => {
        fault = error
        if (!isFinalRefusal(error)) return
        isOver = true
        reject(error)
      },
    })
    try {
      return await withTimeout(this.#clock, WRITE_LIMIT_MS, this.#ended, promise)
    } catch (error) {
      throw unavailable(`writing to ${this.#topic}`, this.#ended.aborted ? error : (fault ?? error))
    } finally {
      isOver = true
    }
  }

  /** Sends it after earlier appends to its partition. Never throws. */
  append(append: Append): void {
    const bytes = append.records.reduce((sum, record) => sum + recordBytes(record), 0)
    const queue = this.#queues.get(append.partition) ?? []
    queue.push({ ...append, bytes })
    this.#queues.set(append.partition, queue)
    if (this.#isSending) return
    this.#isSending = true
    // Appends of the same tick go into the same request.
    queueMicrotask(() => void this.#sendQueued())
  }

  async #sendQueued(): Promise<void> {
    let pauseMs = FIRST_PAUSE_MS
    while (this.#queues.size > 0 && !this.#ended.aborted) {
      const request = this.#takeRequest()
      if (request.size === 0) continue
      const failures = await this.#send(request)
      if (failures.size === 0) {
        pauseMs = FIRST_PAUSE_MS
        continue
      }
      for (const [partition, error] of failures) this.#requeue(partition, request.get(partition) ?? [], error)
      // Another broker may lead by now: a new session loads the metadata again.
      this.#disconnect()
      await sleep(this.#clock, pauseMs, this.#ended)
      pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)
    }
    this.#isSending = false
  }

  /** The appends of the next request, by partition; removed from the queues. */
  #takeRequest(): Map<number, Queued[]> {
    const request = new Map<number, Queued[]>()
    let room = REQUEST_BYTES
    for (const [partition, queue] of [...this.#queues]) {
      if (room <= 0) break
      const taken = takeBatch(queue)
      room -= taken.reduce((sum, { bytes }) => sum + bytes, 0)
      if (taken.length > 0) request.set(partition, taken)
      // The rest comes last in the next request.
      this.#queues.delete(partition)
      if (queue.length > 0) this.#queues.set(partition, queue)
    }
    return request
  }

  /** Sends the request; the failures, by partition. */
  async #send(request: ReadonlyMap<number, readonly Queued[]>): Promise<Map<number, unknown>> {
    this.#session ??= this.#openSession()
    const { partitions: client } = this.#session
    const failures = new Map<number, unknown>()
    const sendTo = async (nodeId: string, led: readonly number[]): Promise<void> => {
      const records = new Map(
        led.map((partition) => [partition, (request.get(partition) ?? []).flatMap((one) => one.records)]),
      )
      try {
        const results = await client.append(nodeId, this.#topic, records)
        for (const [partition, result] of results) {
          if (typeof result === 'number') onAppended(request.get(partition) ?? [], result)
          else failures.set(partition, result)
        }
      } catch (error) {
        for (const partition of led) failures.set(partition, error)
      }
    }
    const sendAll = async (): Promise<void> => {
      const leaders = await client.leaders(this.#topic, [...request.keys()])
      await Promise.all([...leaders].map(([nodeId, led]) => sendTo(nodeId, led)))
    }
    try {
      await withTimeout(this.#clock, REQUEST_LIMIT_MS, this.#ended, sendAll())
      return failures
    } catch (error) {
      return new Map([...request.keys()].map((partition) => [partition, error]))
    }
  }

  #requeue(partition: number, appends: readonly Queued[], error: unknown): void {
    for (const append of appends) append.onFailure(error)
    const again = appends.filter(({ once, isCancelled }) => !once && !isCancelled())
    const queue = [...again, ...(this.#queues.get(partition) ?? [])]
    if (queue.length > 0) this.#queues.set(partition, queue)
  }

  #disconnect(): void {
    this.#session?.end()
    this.#session = null
  }
}

/** Reports the appends of one batch, whose first record is at `offset`. */
function onAppended(appends: readonly Queued[], offset: number): void {
  let next = offset
  for (const append of appends) {
    append.onAppended?.(next)
    next += append.records.length
  }
}

/** The next appends that fit into one batch, without cancelled ones; removed from the queue. */
function takeBatch(queue: Queued[]): Queued[] {
  const taken: Queued[] = []
  let room = LARGEST_BATCH_BYTES
  for (let next = queue[0]; next !== undefined; next = queue[0]) {
    if (!next.isCancelled()) {
      if (taken.length > 0 && next.bytes > room) break
      room -= next.bytes
      taken.push(next)
    }
    queue.shift()
  }
  return taken
}
