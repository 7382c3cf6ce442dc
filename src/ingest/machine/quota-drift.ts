/**
 * Compares our count of the weekly quota with the one that upstream reports, and logs when they differ by more than 5 %. It
 * never corrects our count: another process may be using the same key.
 */
import { quotaAt } from '../../governor/quota/ledger.ts'
import type { Timing } from '../../upstream/outcome.ts'
import type { StepContext } from './state.ts'

/** Share of the quota: a larger difference means that another process uses the same key, or that our count is wrong. */
const ALERT_SHARE = 0.05

/**
 * Compares after an answer; only a reported quota of the same size as ours is the weekly one. Logs when the difference
 * exceeds the alert share, and when it no longer does.
 */
export function compareQuota(context: StepContext, answer: Timing): void {
  const { state, config, nowMs } = context
  const reported = answer.reported?.find(({ limit }) => limit === config.weeklyQuota)
  if (reported === undefined) return
  const { limit, used } = quotaAt(state.ledger, config.weeklyQuota, config.quotaReset, nowMs)
  const drift = (limit - reported.remaining - used) / limit
  const isAlert = Math.abs(drift) > ALERT_SHARE
  const wasAlert = state.quotaDrift !== null && Math.abs(state.quotaDrift) > ALERT_SHARE
  state.quotaDrift = drift
  if (isAlert === wasAlert) return
  context.actions.push({
    type: 'report',
    level: isAlert ? 'warn' : 'info',
    event: isAlert ? 'quota.drift_detected' : 'quota.drift_resolved',
    fields: {
      limit,
      used,
      remaining: reported.remaining,
      drift,
      reason: isAlert
        ? 'upstream reports a different use of the quota: another process uses the key, or the plan is configured wrongly'
        : 'upstream reports the same use of the quota again',
    },
  })
}
