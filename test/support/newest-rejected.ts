/** Reads the newest rejected items of a log, for tests of what was set aside. */
import type { RejectedItem } from '../../src/log/events.ts'
import type { Log } from '../../src/log/log.ts'

/** At most `limit` of the newest rejected items, newest last. */
export async function newestRejected(log: Pick<Log, 'rejectedPage'>, limit: number): Promise<RejectedItem[]> {
  const page = await log.rejectedPage({ before: null, limit, mostBytes: Number.POSITIVE_INFINITY })
  return page.map(({ place: _, ...item }) => item).reverse()
}
