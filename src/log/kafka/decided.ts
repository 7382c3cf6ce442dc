/**
 * The wait for what is written and neither committed nor aborted yet. Owns how long. Refuses to decide it: a claim does.
 */
import type { Clock } from '../../lifecycle/clock.ts'
import { sleep } from '../../lifecycle/clock.ts'
import type { PartitionClient } from './internals.ts'

/** A commit is answered some ms before its markers are written; a dead writer's transaction may stay open for 10 s. */
const UNDECIDED_MS = 2_000
const POLL_MS = 5

/** Resolves when everything that is in the topic now is decided, or after 2 s. */
export async function untilDecided(partitions: PartitionClient, topic: string, clock: Clock): Promise<void> {
  const { end } = await partitions.offsets(topic)
  const untilMs = clock.now() + UNDECIDED_MS
  while (clock.now() < untilMs) {
    const { lastStable } = await partitions.offsets(topic)
    if (lastStable >= end) return
    await sleep(clock, POLL_MS)
  }
}
