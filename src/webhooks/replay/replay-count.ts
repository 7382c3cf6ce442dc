/** Counts how many deliveries a replay would make, within a limit of time. */
import type { Reader } from '../../archive/reading/reader.ts'
import type { Filter } from '../../core/filter/filter.ts'
import { isOptedIn } from '../../core/filter/webhook-opt-in.ts'
import type { Clock } from '../../lifecycle/clock.ts'

const PAGE = 500
/** Time of one page, so that a count does not block other readers. */
const PAGE_BUDGET_MS = 50
/** Time of a count; events after it are not counted. */
export const COUNT_MS = 3000

/** The result; `more`: the time was over before the end of the window. */
export interface ReplayCount {
  count: number
  more: boolean
}

/** Counts events after `after`, up to `until`, that an endpoint with this filter receives. An abort ends it early, with fewer. */
export async function countReplay(
  { reader, clock }: { reader: Reader; clock: Clock },
  filter: Filter,
  { after, until, caller }: { after: number; until: number; caller: string },
  signal: AbortSignal,
): Promise<ReplayCount> {
  let count = 0
  let position = after
  const last = Math.min(until, reader.latest)
  const endMs = clock.now() + COUNT_MS
  while (position < last && !signal.aborted && clock.now() < endMs) {
    const page = { after: position, filter, limit: PAGE, budgetMs: PAGE_BUDGET_MS }
    const read = await reader.read({ ...page, caller, signal })
    const wanted = read.events.filter(({ sequence, facts }) => sequence <= last && isOptedIn(filter, facts))
    count += wanted.length
    // The replica was emptied meanwhile: the rest of the window is not here.
    if (read.position === position) break
    position = read.position
  }
  return { count, more: position < last }
}
