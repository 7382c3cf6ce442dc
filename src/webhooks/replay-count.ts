/**
 * How many deliveries a replay would make (`dryRun`). Owns the counting alone. Refuses to begin one.
 */
import type { Reader } from '../archive/reader.ts'
import type { Filter } from '../core/filter.ts'
import { wantsGaps } from './gap-wish.ts'

const PAGE = 500
/** Time of one page, so that no count holds up who else reads. */
const PAGE_BUDGET_MS = 50

/** Events behind `after`, up to `until`, that an endpoint with this filter gets. An abort ends it early, with fewer. */
export async function countReplay(
  reader: Reader,
  filter: Filter,
  { after, until }: { after: number; until: number },
  signal: AbortSignal,
): Promise<number> {
  let count = 0
  let position = after
  const last = Math.min(until, reader.latest)
  while (position < last && !signal.aborted) {
    const read = await reader.read({ after: position, filter, limit: PAGE, budgetMs: PAGE_BUDGET_MS, signal })
    const wanted = read.events.filter(
      ({ sequence, facts }) => sequence <= last && (facts.kind !== 'gap' || wantsGaps(filter)),
    )
    count += wanted.length
    position = read.position
  }
  return count
}
