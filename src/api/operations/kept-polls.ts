/** Reads the leader's requests to the upstream from the log's table `polls`, on any node. */
import { POLLS_TABLE, type PollsRow } from '../../archive/polls.ts'
import { retryLater } from '../../http/problem.ts'
import type { Clock } from '../../lifecycle/clock.ts'
import type { Log } from '../../log/log.ts'
import { Remembered } from './remembered.ts'

/** For so long the rows of a read are used, ms. */
const USED_MS = 2_000
/** Longest wait for a table that this node has not read yet, ms. */
const PATIENCE_MS = 5_000

/** The rows by key. Throws the refusal `unavailable` where this node has not read them yet. */
export type ReadKeptPolls = () => Promise<ReadonlyMap<string, PollsRow>>

/** A reader of the table. Callers that come within two seconds share one read. */
export function createKeptPolls({ log, clock }: { log: Pick<Log, 'table'>; clock: Clock }): ReadKeptPolls {
  const table = log.table<PollsRow>(POLLS_TABLE)
  const reads = new Remembered<Map<string, PollsRow>>(clock, USED_MS)
  return async () => {
    const late = Promise.withResolvers<null>()
    const cancel = clock.after(PATIENCE_MS, () => late.resolve(null))
    try {
      const read = await Promise.race([reads.get('', () => table.load()), late.promise])
      if (read !== null) return read
      throw retryLater('unavailable', 'this node has not read the requests to upstream yet')
    } finally {
      cancel()
    }
  }
}
