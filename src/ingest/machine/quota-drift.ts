/**
 * Our count of the weekly quota against what upstream reports, where it does. Owns the comparison and the alert. Refuses
 * to correct the count: it is never lowered, and another process on the key is for people to find.
 */
import { quotaAt } from '../../governor/quota/ledger.ts'
import type { Timing } from '../../upstream/outcome.ts'
import type { Turn } from './state.ts'

/** Of the quota: a larger difference than this means that another process spends the same key, or that we count wrongly. */
const ALERT_SHARE = 0.05

/**
 * Compares after an answer. Only a quota of the same size as ours is the weekly one. Says in the log when the difference
 * grows beyond the alert, and when it is over.
 */
export function compareQuota(turn: Turn, answer: Timing): void {
  const { state, config, nowMs } = turn
  const reported = answer.reported?.find(({ limit }) => limit === config.weeklyQuota)
  if (reported === undefined) return
  const { limit, used } = quotaAt(state.ledger, config.weeklyQuota, config.quotaReset, nowMs)
  const drift = (limit - reported.remaining - used) / limit
  const isAlert = Math.abs(drift) > ALERT_SHARE
  const wasAlert = state.quotaDrift !== null && Math.abs(state.quotaDrift) > ALERT_SHARE
  state.quotaDrift = drift
  if (isAlert === wasAlert) return
  turn.actions.push({
    type: 'report',
    level: isAlert ? 'warn' : 'info',
    event: isAlert ? 'quota.drift' : 'quota.drift_over',
    fields: { limit, used, remaining: reported.remaining, drift },
  })
}
