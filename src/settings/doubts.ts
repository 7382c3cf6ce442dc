/**
 * Finds settings that are valid and that nobody can mean: sentences for the start-up log and for the doctor.
 */
import { WEEK_MS } from '../core/durations.ts'
import { isLoopback } from '../core/ip.ts'
import { type PlanName, planIncludes } from '../core/plans.ts'

/** The smallest plan with fund paths (specification §8). */
const FUNDS_PLAN = 'advanced'
/** With more time between polls than this, a sandbox looks dead outside the release hours of its own time. */
const SLOW_POLLS_MS = 60_000

/** The settings that are looked at. */
interface Judged {
  roles: readonly string[]
  /** null: the embedded log. */
  kafka: object | null
  upstream: { url: string } | null
  plan: { name: PlanName; weeklyQuota: number }
  gatewayUnits: number
}

/** One sentence for each setting in doubt, naming it and what to do. */
export function doubtsOf({ roles, kafka, upstream, plan, gatewayUnits }: Judged): string[] {
  const polls = roles.includes('poller')
  const doubts: string[] = []
  if (kafka === null && !polls) {
    doubts.push(
      'BRIDGE_ROLES has no poller, and on the embedded log no other process can poll: nothing new will arrive. Add poller, or set BRIDGE_KAFKA_BROKERS',
    )
  }
  if (roles.includes('console') && !roles.includes('feed')) {
    doubts.push(
      'BRIDGE_ROLES has console without feed: the live feed of the console has no stream to follow. Add feed',
    )
  }
  if (gatewayUnits > 0 && !planIncludes(plan.name, FUNDS_PLAN)) {
    doubts.push(
      `BRIDGE_GATEWAY_WEEKLY_UNITS keeps ${gatewayUnits} requests a week from the polls, but the plan ${plan.name} has no fund paths. Set it to 0, or BRIDGE_UPSTREAM_PLAN to ${FUNDS_PLAN} or above`,
    )
  }
  if (polls && upstream !== null && isLoopback(new URL(upstream.url).hostname)) {
    if (WEEK_MS / plan.weeklyQuota > SLOW_POLLS_MS) {
      doubts.push(
        'BRIDGE_UPSTREAM_URL is on this machine. Polls follow the time that a sandbox there keeps, but they spread the quota over a real week: the next one may be minutes away, at night and on weekends of the sandbox hours. Start the sandbox with --weekly-quota 1000000 and set BRIDGE_UPSTREAM_WEEKLY_QUOTA to the same, or use bridge demo',
      )
    }
  }
  return doubts
}
