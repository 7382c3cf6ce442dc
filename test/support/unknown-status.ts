/** The status of a node of the embedded log that knows nothing yet. */
import type { Status } from '../../src/api/routes/status.ts'

/** What it answers: null for all that only a leader knows. */
export const UNKNOWN_STATUS: Status = {
  leader: { id: null, since: null, self: false },
  upstream: { state: null, lastGoodPoll: null, nextPoll: null, phase: 'closed', aheadMs: null },
  polling: { paused: null, since: null, by: null, reason: null },
  quota: { limit: null, used: null, remaining: null, reset: null, forecast: null, drift: null },
  log: { kind: 'embedded', available: true, epoch: null, oldest: 1, latest: 0 },
  copy: { sequence: 0, lagEvents: 0, lagSeconds: 0, filled: 1 },
  completeness: null,
  unreconciled: null,
  gaps: null,
  roles: ['api'],
  asOf: null,
}
