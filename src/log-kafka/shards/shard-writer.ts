/**
 * Appends to the partitions of one topic, outside transactions. Owns putting what comes at the same time into one request,
 * one on its way at a time, and sending again what may not have arrived. Refuses to know whether it did: whoever appends
 * reads it, and tells what comes twice by its number (`valid-records.ts`).
 */
import { type Clock, sleep } from '../../lifecycle/clock.ts'
import { LARGEST_BATCH_BYTES } from '../client/batch-splitting.ts'
import type { KafkaSession, OpenSession } from '../client/client.ts'
import type { NewRecord } from '../client/records.ts'
import { withTimeout } from '../client/with-timeout.ts'

/** Most bytes of a request, over all partitions. */
const REQUEST_BYTES = 4 * 1024 * 1024
/** No request may take longer, ms: kafkajs's own limits end it before. */
const REQUEST_LIMIT_MS = 15_000
const FIRST_PAUSE_MS = 20
const LONGEST_PAUSE_MS = 500

/** Records of one partition that are appended together: all or nothing of them is kept. */
export interface Append {
  partition: number
  /** At most LARGEST_BATCH_BYTES, unless it is a single one. */
  records: readonly NewRecord[]
  /** Their size. */
  bytes: number
  /** True: it is sent at most once. */
  once: boolean
  /** True when nobody waits for it any more: it is not sent then, or not again. */
  isOver(): boolean
  /** Told when it may not have arrived; it is sent again unless it is over, or to be sent once. */
  failed(error: unknown): void
}

/** A writer to the partitions of a topic. */
export interface ShardWriter {
  /** Sends it after what came before it to its partition. Never throws. */
  append(append: Append): void
}

/** A writer that connects with its first record and ends when `ended` aborts. */
export function createShardWriter(
  { openSession, clock }: { openSession: OpenSession; clock: Clock },
  topic: string,
  ended: AbortSignal,
): ShardWriter {
  const queues = new Map<number, Append[]>()
  let session: KafkaSession | null = null
  let sending = false
  const end = (): void => {
    session?.end()
    session = null
  }
  ended.addEventListener('abort', end, { once: true })

  /** What goes into the next request, by partition; taken out of the queues. */
  const takeRound = (): Map<number, Append[]> => {
    const round = new Map<number, Append[]>()
    let room = REQUEST_BYTES
    for (const [partition, queue] of [...queues]) {
      if (room <= 0) break
      const taken = takeBatch(queue)
      room -= taken.reduce((sum, { bytes }) => sum + bytes, 0)
      if (taken.length > 0) round.set(partition, taken)
      // It comes last in the next request.
      queues.delete(partition)
      if (queue.length > 0) queues.set(partition, queue)
    }
    return round
  }
  /** Sends the round; answers what went wrong, by partition. */
  const send = async (round: ReadonlyMap<number, readonly Append[]>): Promise<Map<number, unknown>> => {
    const failures = new Map<number, unknown>()
    session ??= openSession()
    const { partitions: client } = session
    const sendTo = async (nodeId: string, led: readonly number[]): Promise<void> => {
      const records = new Map(
        led.map((partition) => [partition, (round.get(partition) ?? []).flatMap((append) => append.records)]),
      )
      try {
        for (const [partition, error] of await client.append(nodeId, topic, records))
          failures.set(partition, error)
      } catch (error) {
        for (const partition of led) failures.set(partition, error)
      }
    }
    try {
      const work = (async () => {
        const leaders = await client.leaders(topic, [...round.keys()])
        await Promise.all([...leaders].map(([nodeId, led]) => sendTo(nodeId, led)))
      })()
      await withTimeout(clock, REQUEST_LIMIT_MS, ended, work)
      return failures
    } catch (error) {
      return new Map([...round.keys()].map((partition) => [partition, error]))
    }
  }
  const putBack = (partition: number, appends: readonly Append[], error: unknown): void => {
    for (const append of appends) append.failed(error)
    const again = appends.filter(({ once, isOver }) => !once && !isOver())
    const queue = [...again, ...(queues.get(partition) ?? [])]
    if (queue.length > 0) queues.set(partition, queue)
  }
  const pump = async (): Promise<void> => {
    sending = true
    let pauseMs = FIRST_PAUSE_MS
    while (queues.size > 0 && !ended.aborted) {
      const round = takeRound()
      if (round.size === 0) continue
      const failures = await send(round)
      if (failures.size === 0) {
        pauseMs = FIRST_PAUSE_MS
        continue
      }
      for (const [partition, error] of failures) putBack(partition, round.get(partition) ?? [], error)
      // Another broker may lead by now: a new session asks.
      end()
      await sleep(clock, pauseMs, ended)
      pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)
    }
    sending = false
  }
  return {
    append(append) {
      const queue = queues.get(append.partition) ?? []
      queue.push(append)
      queues.set(append.partition, queue)
      if (!sending) {
        sending = true
        // What is appended in the same turn goes into the same request.
        queueMicrotask(() => void pump())
      }
    },
  }
}

/** The next appends that together are one batch, without those that are over; taken out of the queue. */
function takeBatch(queue: Append[]): Append[] {
  const taken: Append[] = []
  let room = LARGEST_BATCH_BYTES
  for (let next = queue[0]; next !== undefined; next = queue[0]) {
    if (!next.isOver()) {
      if (taken.length > 0 && next.bytes > room) break
      room -= next.bytes
      taken.push(next)
    }
    queue.shift()
  }
  return taken
}
