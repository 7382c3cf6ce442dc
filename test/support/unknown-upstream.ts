/** The upstream in the heartbeats of a node that has heard from no leader. */
import type { UpstreamSnapshot } from '../../src/streams/fanout/framing.ts'

/** What it says: null for all that only a leader knows. */
export const UNKNOWN_UPSTREAM: UpstreamSnapshot = {
  upstreamState: null,
  lastGoodPoll: null,
  nextPoll: null,
  openGaps: null,
  quotaRemaining: null,
  leader: null,
  leaderSince: null,
  asOf: null,
  phase: 'closed',
}
