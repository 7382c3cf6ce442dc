/** Tails one partition with `read_committed` and without a consumer group, across leader changes and dropped offsets. */
import { ReaderConnection, type ReaderParts } from '../client/connection.ts'
import type { KafkaRecord } from '../client/partition-protocol.ts'
import { type Fetched, OFFSET_OUT_OF_RANGE, requireNoError } from '../client/partition-protocol.ts'
import { TOMBSTONES_KEPT_MS } from '../topics/topics.ts'

/** The result of one fetch. */
export interface ReadBatch {
  records: KafkaRecord[]
  /** The first offset after these records, markers and aborted records. */
  nextOffset: number
  /** True when the fetch reached the last stable offset. */
  atEnd: boolean
  /**
   * Set when reading restarts at the earliest offset with this batch: the requested offset did not exist any more, or
   * tombstones may have been missed.
   */
  rewound: { asked: number; earliest: number; end: number } | null
}

/** Longest wait of the broker for something new, ms: it bounds how long a dead connection goes unnoticed. */
export const FETCH_WAIT_MS = 1_000
/** Most bytes of a response; 8 MB reads fastest (measured: 105,000–255,000 records of 1.5 KB a second). */
export const FETCH_BYTES = 8 * 1024 * 1024
/**
 * A reader of a compacted topic restarts when its last fetch is older than this, ms: tombstones are kept for
 * `TOMBSTONES_KEPT_MS`, and a reader that misses one keeps a deleted row.
 */
const LONGEST_ABSENCE_MS = TOMBSTONES_KEPT_MS / 2

/**
 * Batches of the topic's partition until the signal aborts. `from`: an offset; `compacted`: the earliest, and again after
 * an absence in which tombstones may have been dropped; `end`: the log end, and the new end where that was dropped. A
 * batch without records only reports that the end was reached. `waitMs`: longest wait of the broker for something new.
 * Never throws for faults of Kafka: it retries.
 */
export async function* readPartition(
  parts: ReaderParts,
  topic: string,
  from: number | 'compacted' | 'end',
  signal: AbortSignal,
  waitMs = FETCH_WAIT_MS,
): AsyncGenerator<ReadBatch> {
  const connection = new ReaderConnection(parts, signal)
  let offset = typeof from === 'number' ? from : null
  /** When the last answered fetch was sent. */
  let askedMs = parts.clock.now()
  let rewound: ReadBatch['rewound'] = null
  let atEnd = false
  /** The broker returned nothing below its end, as a new leader may. */
  let stalled = false
  try {
    while (!signal.aborted) {
      const fetched: Fetched | null = await connection.attempt(topic, async ({ partitions }) => {
        const nowMs = parts.clock.now()
        if (offset !== null && from === 'compacted' && nowMs - askedMs > LONGEST_ABSENCE_MS) {
          const { earliest, end } = await partitions.offsets(topic)
          rewound = { asked: offset, earliest, end }
          offset = earliest
        }
        offset ??= (await partitions.offsets(topic))[from === 'end' ? 'end' : 'earliest']
        const answer = await partitions.fetch(topic, offset, {
          maxWaitMs: atEnd || stalled ? waitMs : 0,
          maxBytes: FETCH_BYTES,
        })
        if (answer.errorCode === OFFSET_OUT_OF_RANGE) {
          const { earliest, end } = await partitions.offsets(topic)
          if (from !== 'end') rewound = { asked: offset, earliest, end }
          offset = from === 'end' ? end : earliest
          return null
        }
        requireNoError(topic, answer)
        askedMs = nowMs
        return answer
      })
      if (fetched === null) continue
      parts.onResponse?.()
      const wasAtEnd = atEnd
      atEnd = fetched.nextOffset >= fetched.lastStableOffset
      stalled = fetched.nextOffset === offset
      offset = fetched.nextOffset
      if (fetched.records.length === 0 && rewound === null && (wasAtEnd || !atEnd)) continue
      yield { records: fetched.records, nextOffset: fetched.nextOffset, atEnd, rewound }
      rewound = null
    }
  } finally {
    connection.end()
  }
}
