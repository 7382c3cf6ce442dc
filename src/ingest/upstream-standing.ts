/** Tells whether the leader's upstream is in a bad state, for the log of states that last. */
import type { FaultName, Standing } from '../obs/lasting-faults.ts'
import { type IngestState, isInformed, type UpstreamHealth } from './machine/state.ts'

const faults: Partial<Record<UpstreamHealth, FaultName>> = {
  unauthorised: 'key_refused',
  failing: 'upstream_unavailable',
  throttled: 'upstream_throttled',
  quota: 'quota_spent',
}

/**
 * How upstream stands for this process; only the leader has faults of it. One failed request is none yet. While polling is
 * paused, nothing new is known.
 */
export function upstreamStanding(
  state: Pick<IngestState, 'head' | 'upstream' | 'failuresInARow' | 'pausedSinceMs'>,
  leaderSinceMs: number | null,
): Standing {
  if (!isInformed(state, leaderSinceMs)) return { is: 'fine', reason: 'this process no longer leads' }
  const { upstream, failuresInARow, pausedSinceMs } = state
  if (pausedSinceMs !== null || upstream === 'waiting' || (upstream === 'failing' && failuresInARow < 2))
    return { is: 'unknown' }
  const what = faults[upstream]
  return what === undefined ? { is: 'fine' } : { is: 'bad', what }
}
