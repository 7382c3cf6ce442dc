/** Configures the poller's state machine for tests that feed it events one by one: the plan `advanced`, no page scans. */
import { createCalendar } from '../../../src/core/calendar/calendar.ts'
import { plans } from '../../../src/core/plans.ts'
import { plannedPacing } from '../../../src/governor/schedule/pacing.ts'
import type { IngestConfig } from '../../../src/ingest/machine/state.ts'

/** `weeklyQuota`: units in seven days that roll. */
export function ingestConfig(weeklyQuota: number = plans.advanced.weeklyQuota): IngestConfig {
  const plan = { ...plans.advanced, weeklyQuota, quotaReset: 'rolling' as const }
  const calendar = createCalendar()
  return {
    pageSize: plan.pageSize,
    weeklyQuota,
    quotaReset: plan.quotaReset,
    pacing: plannedPacing(plan, calendar),
    breathMs: 2000,
    rounds: null,
    dayWalks: null,
    backfillMs: 0,
    calendar,
    isShared: true,
    chance: () => 0.5,
  }
}
