/** Says, for the items of an answer, which request brought them and what was before it: see `archive/journeys.ts`. */
import { journeyText, type KeptJourney, keptHolds } from '../../archive/journeys.ts'
import type { Purpose } from '../../core/purpose.ts'
import type { TraceContext } from '../../obs/trace-context.ts'
import type { Timing } from '../../upstream/outcome.ts'
import { isPoll } from '../machine/jobs.ts'
import type { IngestState } from '../machine/state.ts'

/**
 * The text of the journey of every item of an answer that was read at `readMs`. `state`: that in which the request was made;
 * `trace`: to which it belongs.
 */
export function requestJourney(
  state: Pick<IngestState, 'scan' | 'lastGoodPollMs' | 'intervalBeforeMs' | 'holds' | 'skewMs'>,
  purpose: Purpose,
  { startedMs }: Pick<Timing, 'startedMs'>,
  readMs: number,
  trace: TraceContext | null,
): string {
  const about = isPoll(purpose) ? aboutPoll(state, startedMs) : aboutScan(state, startedMs)
  return journeyText({ requestMs: readMs - startedMs, ...about, ...(trace !== null && { trace }) })
}

function aboutPoll(
  {
    lastGoodPollMs,
    intervalBeforeMs,
    holds,
  }: Pick<IngestState, 'lastGoodPollMs' | 'intervalBeforeMs' | 'holds'>,
  startedMs: number,
): KeptJourney {
  return {
    ...(lastGoodPollMs !== null && { sincePollMs: startedMs - lastGoodPollMs }),
    // Nothing is planned before the first poll of a leadership.
    ...(intervalBeforeMs > 0 && { plannedMs: intervalBeforeMs }),
    ...keptHolds(holds, lastGoodPollMs ?? 0, startedMs),
  }
}

function aboutScan(
  { scan, holds, skewMs }: Pick<IngestState, 'scan' | 'holds' | 'skewMs'>,
  startedMs: number,
): KeptJourney {
  if (scan === null) return {}
  const about = { scan: scan.kind, scanMs: startedMs - scan.startedMs }
  // The items of a fill waited for the poll that overflowed, too; its range is by upstream's clock.
  return scan.kind === 'fill' ? { ...about, ...keptHolds(holds, scan.fromMs - skewMs, startedMs) } : about
}
