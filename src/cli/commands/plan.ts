/**
 * Runs `bridge plan`: prints how a bridge would spread its polls of the upstream over a week, with delays and risks.
 * The risk is a poll that finds more new items than one page holds. No request is sent.
 */
import { isoSeconds } from '../../core/dates.ts'
import { DAY_MS } from '../../core/durations.ts'
import { BridgeError } from '../../errors.ts'
import { firstProfile } from '../../governor/arrivals/profile.ts'
import { MOST_FILL_SHARE } from '../../governor/schedule/fills.ts'
import { withoutGateway } from '../../governor/schedule/pacing.ts'
import {
  evenInHoursDelayS,
  type PlannedHour,
  plannedPolls,
  type WeekPlan,
  weekPlan,
} from '../../governor/schedule/week-plan.ts'
import { loadCalendar } from '../../settings/calendar-file.ts'
import { examineSettings, type Settings, type UpstreamPlan } from '../../settings/settings.ts'
import { command } from '../terminal/command.ts'
import { type Paint, painter } from '../terminal/text.ts'

/** A weekly quota that pays for a poll every five seconds, above which nothing needs planning. */
const EVERY_POLL = 604_800 / 5
/** Characters of the longest bar. */
const BAR = 32
/** The settings that the plan depends on; others may be wrong. */
const NEEDED =
  /^BRIDGE_(GATEWAY_WEEKLY_UNITS|UPSTREAM_(PLAN|RATE|BURST|WEEKLY_QUOTA|PAGE_SIZE|QUOTA_RESET)|CALENDAR_FILE)(_FILE)?$/

const flags = { json: { type: 'boolean' }, compare: { type: 'boolean' } } as const

const HELP = `One row per hour (London), averaged over the business days of the next seven days: polls, items,
mean and worst delay from an item's release to its poll, the risk that a poll overflows (more new
items than one page holds), and a bar for the polls. Above them: the mean delay, compared with the same
number of evenly spaced polls. Arrivals are those of the built-in profile; a running bridge learns its own.
Plan and calendar come from the settings (BRIDGE_UPSTREAM_PLAN and its overrides, BRIDGE_CALENDAR_FILE).
  --compare   also compares with polls spaced evenly in the release hours
  --json      everything as one line of JSON`

const SPEC = {
  name: 'plan',
  does: 'the planned polls of a week, with delays and risks; sends no request',
  help: HELP,
  flags,
} as const

/** Prints the plan. */
export const planCommand = command(SPEC, async ({ values }, context) => {
  const { stdout, clock, colour, env } = context
  const { settings, errors } = examineSettings(env)
  const wrong = errors.filter(({ field }) => NEEDED.test(field))
  if (wrong.length > 0) {
    throw new BridgeError('settings', 'settings that the plan depends on are wrong', {
      errors: wrong,
      hint: 'Every setting, its default and its meaning: docs/configuration.md',
    })
  }
  const { gatewayUnits } = settings
  const plan = withoutGateway({ ...settings.plan, gatewayUnits })
  if (plan.weeklyQuota >= EVERY_POLL) {
    const note = `a weekly quota of ${plan.weeklyQuota} pays for a poll every few seconds: no planning is needed`
    stdout(
      values.json === true ? JSON.stringify({ plan: plan.name, weeklyQuota: plan.weeklyQuota, note }) : note,
    )
    return
  }
  const calendar = loadCalendar(settings.calendarFile)
  const fromMs = calendar.momentMs(calendar.londonDate(clock.now() + DAY_MS), 0)
  const profile = firstProfile()
  const pollsMs = plannedPolls(plan, profile, calendar, fromMs)
  const week = weekPlan(plan, profile, calendar, pollsMs)
  const compared =
    values.compare === true ? { evenInHoursS: evenInHoursDelayS(profile, calendar, pollsMs) } : null
  if (values.json === true) {
    const { fromMs: _fromMs, ...rest } = week
    stdout(
      JSON.stringify({
        plan: plan.name,
        weeklyQuota: settings.plan.weeklyQuota,
        gatewayUnits,
        from: isoSeconds(fromMs),
        ...rest,
        ...(compared !== null && { compared }),
      }),
    )
    return
  }
  for (const line of planLines(settings, week, compared, painter(colour))) stdout(line)
})

function planLines(
  { plan, gatewayUnits }: Pick<Settings, 'plan' | 'gatewayUnits'>,
  week: WeekPlan,
  compared: { evenInHoursS: number } | null,
  paint: Paint,
): string[] {
  const shared = gatewayUnits === 0 ? '' : ` (${gatewayUnits} of them reserved for the fund gateway)`
  const most = Math.max(...week.hours.map(({ polls }) => polls))
  const open = week.hours.filter(({ isOpen }) => isOpen)
  const closed = week.hours.filter(({ isOpen }) => !isOpen)
  const head = '  hour  polls  items  mean delay   worst  overflow  polls as bar'
  return [
    `plan ${plan.name}: ${plan.weeklyQuota} units a week${shared}, pages of ${plan.pageSize}, week from ${isoSeconds(week.fromMs)}`,
    `${week.polls} polls, ${week.kept} units kept for overflow fills and re-scans, ${week.left} left`,
    `mean delay ${seconds(week.meanDelayS)}; evenly spaced polls: ${seconds(week.evenMeanDelayS)} (${gainOf(week, week.evenMeanDelayS)})`,
    ...unpaidFills(plan, week),
    '',
    paint('soft', `business days\n${head}`),
    ...open.map((hour) => hourLine(hour, most, paint)),
    ...(closed.length === 0 ? [] : ['', paint('soft', 'closed days'), closedLine(closed)]),
    ...(compared === null ? [] : ['', comparedLine(week, compared.evenInHoursS)]),
  ]
}

/** A warning where the quota does not pay for filling overflows. */
function unpaidFills({ weeklyQuota }: UpstreamPlan, { fills }: WeekPlan): string[] {
  const most = Math.floor(weeklyQuota * MOST_FILL_SHARE)
  if (fills <= most) return []
  return [
    `filling overflows would cost ${fills} units, and at most ${most} may be spent: the rest stays open gaps`,
  ]
}

function hourLine(hour: PlannedHour, most: number, paint: Paint): string {
  const risk = hour.overflowRisk < 0.0005 ? '–' : `${(hour.overflowRisk * 100).toFixed(1)} %`
  const cells = [
    `  ${hour.hour.toString().padStart(2, '0')}:00`.padEnd(6),
    hour.polls.toFixed(1).padStart(6),
    hour.items.toFixed(hour.items < 10 ? 1 : 0).padStart(6),
    seconds(hour.meanDelayS).padStart(11),
    seconds(hour.worstDelayS).padStart(7),
    risk.padStart(9),
  ]
  return `${cells.join(' ')}  ${paint('strong', '█'.repeat(Math.round((hour.polls / most) * BAR)))}`
}

function closedLine(hours: readonly PlannedHour[]): string {
  const polls = hours.reduce((sum, hour) => sum + hour.polls, 0)
  const worst = Math.max(...hours.map(({ worstDelayS }) => worstDelayS))
  return `  ${polls.toFixed(1)} polls a day, worst delay ${seconds(worst)}`
}

function comparedLine(week: WeekPlan, evenInHoursS: number): string {
  return `mean delay of the same number of polls spaced evenly in the release hours: ${seconds(evenInHoursS)} (${gainOf(week, evenInHoursS)})`
}

/** How much shorter the planned mean delay is than this one. */
function gainOf({ meanDelayS }: WeekPlan, delayS: number): string {
  const percent = Math.round((1 - meanDelayS / delayS) * 100)
  if (percent === 0) return 'the plan is equally fast'
  return `the plan is ${Math.abs(percent)} % ${percent > 0 ? 'faster' : 'slower'}`
}

function seconds(value: number): string {
  if (value >= 5400) return `${(value / 3600).toFixed(1)} h`
  return value >= 90 ? `${(value / 60).toFixed(1)} min` : `${value.toFixed(1)} s`
}
