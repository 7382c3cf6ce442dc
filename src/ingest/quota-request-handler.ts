/**
 * Answers requests of any node for the figures by which the leader plans its polls: the ledger of spent units, the plan and
 * the learnt arrival profile.
 */
import { type LeaderQuota, QUOTA_REQUEST } from '../http/schemas/leader-quota-schema.ts'
import { type Clock, sleep } from '../lifecycle/clock.ts'
import type { UpstreamPlan } from '../settings/settings.ts'
import { encodeReply, refused } from '../upstream/leader-reply.ts'
import { type Reporter, reportOf } from './leader-report.ts'
import { isInformed } from './machine/state.ts'
import type { Poller } from './poller/poller.ts'

/** What the requests are answered from. */
export interface QuotaRequestParts extends Reporter {
  poller: Pick<Poller, 'state' | 'leaderSinceMs'>
  plan: UpstreamPlan
  /** Units a week for fund requests. */
  gatewayUnits: number
  clock: Clock
}

/** Pause between two checks whether this process leads. */
const LEADER_CHECK_MS = 50

/** Whether it is this request. */
export function isQuotaRequest(request: string): boolean {
  return request === QUOTA_REQUEST
}

/** The encoded reply, once this process leads and knows the ledger. `asked` aborts when nobody waits for it any more. */
export async function answerQuota(parts: QuotaRequestParts, asked: AbortSignal): Promise<string> {
  const { poller, clock } = parts
  while (!asked.aborted) {
    const { state, leaderSinceMs } = poller
    if (isInformed(state, leaderSinceMs)) {
      const text = JSON.stringify(quotaFigures(parts, leaderSinceMs))
      return encodeReply({ status: 200, text, refusal: null, retryAfterMs: null, validMs: 0 })
    }
    await sleep(clock, LEADER_CHECK_MS, asked)
  }
  return encodeReply(refused(503, 'the client no longer waits for this request', null, null))
}

function quotaFigures(parts: QuotaRequestParts, sinceMs: number): LeaderQuota {
  const { poller, plan, gatewayUnits, clock } = parts
  const { state } = poller
  const { asOf, nextPoll, upstreamAheadMs, quota } = reportOf(state, sinceMs, parts, clock.now())
  const { name, ratePerSecond, burst, weeklyQuota, pageSize, quotaReset } = plan
  return {
    asOf: asOf ?? '',
    nextPoll,
    upstreamAheadMs,
    quota,
    pollsUntilReset: state.plan.pollsUntilReset,
    plan: { name, ratePerSecond, burst, weeklyQuota, pageSize, gatewayUnits, quotaReset },
    ledger: [...state.ledger].map(([bucketMs, units]) => [bucketMs, { ...units }]),
    profile: state.profile as LeaderQuota['profile'],
  }
}
