/** Follows the topic of status messages from shortly before its end on. */
import { patientRead } from '../client/bounded-read.ts'
import type { ReaderParts } from '../client/connection.ts'
import { readPartition } from './partition-reader.ts'

/** Records before the end that are read first. One heartbeat suffices; daily reports lie between them. */
const NEWEST = 64
/** Longest wait of the broker, ms: every node reads this topic all day, and it has a record only every 5 s at night. */
const WAIT_MS = 5_000

/** The values of the newest records as text, oldest first, then those of new ones until the signal aborts, and ends. */
export async function* followStatusTopic(
  parts: ReaderParts,
  topic: string,
  signal: AbortSignal,
): AsyncGenerator<string[]> {
  const found = patientRead({ ...parts, topic }, 'finding the newest status', signal, async (partitions) => {
    const { earliest, end } = await partitions.offsets(topic)
    return Math.max(earliest, end - NEWEST)
  })
  const from = await found.catch((error: unknown) => {
    if (!signal.aborted) throw error
    return 0
  })
  for await (const { records } of readPartition(parts, topic, from, signal, WAIT_MS)) {
    if (records.length > 0) yield records.map(({ value }) => value?.toString('utf8') ?? '')
  }
}
