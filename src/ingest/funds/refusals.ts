/**
 * Decides which of the clients' requests for fund data are refused without asking upstream. Reasons: page size too large,
 * upstream plan without fund data, quota used up, or upstream failing, throttling or rejecting the API key.
 */
import { isoMillis } from '../../core/dates.ts'
import { planIncludes } from '../../core/plans.ts'
import { type Quota, quotaAt } from '../../governor/quota/ledger.ts'
import type { UpstreamPlan } from '../../settings/settings.ts'
import type { FundRequest } from '../../upstream/fund-target.ts'
import { type LeaderReply, refused } from '../../upstream/leader-reply.ts'
import type { Poller } from '../poller/poller.ts'

/** Clients wait for at most 10 s: a longer block is reported to them at once. */
const LONGEST_WAIT_MS = 10_000

/** Why this request is never sent; null where it may be. */
export function planRefusal(plan: UpstreamPlan, { pageSize }: FundRequest): LeaderReply | null {
  if (pageSize === undefined || pageSize <= plan.pageSize) return null
  return refused(
    400,
    `pageSize ${pageSize} is above the maximum of the upstream plan, ${plan.pageSize}`,
    `Send pageSize=${plan.pageSize} or less.`,
    null,
  )
}

/** Why nothing is sent at the moment; null where the request only has to wait. */
export function refusalAt(
  { plan, poller, weeklyUnits }: { plan: UpstreamPlan; poller: Pick<Poller, 'state'>; weeklyUnits: number },
  nowMs: number,
): LeaderReply | null {
  const { ledger, upstream, blockedUntilMs } = poller.state
  const { weeklyQuota, quotaReset } = plan
  if (!planIncludes(plan.name, 'advanced')) {
    return refused(
      503,
      `the upstream plan "${plan.name}" has no fund data`,
      'Fund data needs the plan "advanced". If the key has it, correct BRIDGE_UPSTREAM_PLAN of the bridge.',
      null,
    )
  }
  const share = quotaAt(ledger, weeklyUnits, quotaReset, nowMs, ['gateway'])
  if (share.remaining === 0) return exhausted('the share of fund requests', share, nowMs)
  const total = quotaAt(ledger, weeklyQuota, quotaReset, nowMs)
  if (total.remaining === 0) return exhausted('the upstream quota', total, nowMs)
  const waitMs = Math.max(0, blockedUntilMs - nowMs)
  if (upstream === 'quota') return refused(503, 'upstream reports that the quota is used up', null, waitMs)
  if (upstream === 'unauthorised') {
    const hint = 'The operator of this bridge must correct BRIDGE_UPSTREAM_KEY: it is wrong or revoked.'
    return refused(502, 'upstream rejects the API key of this bridge', hint, waitMs)
  }
  if (upstream === 'failing') return refused(503, 'upstream is failing at the moment', null, waitMs)
  return waitMs > LONGEST_WAIT_MS
    ? refused(503, 'upstream is throttling requests at the moment', null, waitMs)
    : null
}

function exhausted(what: string, { limit, used, resetMs }: Quota, nowMs: number): LeaderReply {
  const hint = `Units come back from ${isoMillis(resetMs)} on. BRIDGE_GATEWAY_WEEKLY_UNITS is the share of fund requests.`
  return refused(429, `${what} is used up: ${used} of ${limit} units this week`, hint, resetMs - nowMs)
}
