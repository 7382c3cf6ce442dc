/**
 * Runs `bridge plan`: prints how a bridge would spread its polls of the upstream over a week, with delays and risks.
 * The risk is a poll that finds more new items than one page holds. No request is sent.
 */
import { isoSeconds } from '../../core/dates.ts'
import { DAY_MS } from '../../core/durations.ts'
import { type PlanName, planNames } from '../../core/plans.ts'
import { BridgeError } from '../../errors.ts'
import { firstProfile } from '../../governor/arrivals/profile.ts'
import { MOST_FILL_SHARE } from '../../governor/schedule/fills.ts'
import { type PlanFigures, withoutGateway } from '../../governor/schedule/pacing.ts'
import {
  type ComparedPlan,
  comparedPlans,
  type ExpectedWeek,
  hasFunds,
  plannedWeek,
  type Week,
} from '../../governor/schedule/plan-comparison.ts'
import type { PlannedHour, WeekPlan } from '../../governor/schedule/week-plan.ts'
import { atOnce } from '../../lifecycle/slices.ts'
import { loadCalendar } from '../../settings/calendar-file.ts'
import type { SettingName } from '../../settings/schema.ts'
import { examineSettings, type Settings, type UpstreamPlan } from '../../settings/settings.ts'
import { readPlan } from '../terminal/arguments.ts'
import { command } from '../terminal/command.ts'
import { type Column, headerRow, tableRow } from '../terminal/table.ts'
import { type Paint, painter } from '../terminal/text.ts'

/** A weekly quota that pays for a poll every five seconds, above which nothing needs planning. */
const EVERY_POLL = 604_800 / 5
/** Characters of the longest bar. */
const BAR = 32
/** The settings that override figures of a plan. */
const OVERRIDES = [
  'BRIDGE_UPSTREAM_RATE',
  'BRIDGE_UPSTREAM_BURST',
  'BRIDGE_UPSTREAM_WEEKLY_QUOTA',
  'BRIDGE_UPSTREAM_PAGE_SIZE',
] as const satisfies readonly SettingName[]
/** The settings that the plan depends on; others may be wrong. */
const NEEDED =
  /^BRIDGE_(GATEWAY_WEEKLY_UNITS|UPSTREAM_(PLAN|RATE|BURST|WEEKLY_QUOTA|PAGE_SIZE|QUOTA_RESET)|CALENDAR_FILE)(_FILE)?$/

const flags = {
  json: { type: 'boolean' },
  plan: { type: 'string' },
  compare: { type: 'boolean' },
} as const

const HELP = `One row per hour (London), averaged over the business days of the next seven days: polls, items,
mean and worst delay from an item's release to its poll, the risk that a poll overflows (more new
items than one page holds), and a bar for the polls. Above them: the mean delay, compared with the same
number of evenly spaced polls. Arrivals are those of the built-in profile; a running bridge learns its own.
Plan and calendar come from the settings (BRIDGE_UPSTREAM_PLAN and its overrides, BRIDGE_CALENDAR_FILE).
  --plan NAME   another plan, with its own figures: ${planNames.join(', ')}
  --compare     also every plan in a table, and polls spaced evenly in the release hours
  --json        everything as one line of JSON

  bridge plan --plan lite --compare`

const SPEC = {
  name: 'plan',
  does: 'the planned polls of a week, with delays and risks; sends no request',
  help: HELP,
  flags,
} as const

/** Prints the plan. */
export const planCommand = command(SPEC, async ({ values }, context) => {
  const { stdout, clock, colour } = context
  const settings = neededSettings({ ...context.env, ...otherPlan(values.plan) })
  const { gatewayUnits } = settings
  const plan = withoutGateway({ ...settings.plan, gatewayUnits })
  const calendar = loadCalendar(settings.calendarFile)
  const fromMs = calendar.momentMs(calendar.londonDate(clock.now() + DAY_MS), 0)
  const expected: ExpectedWeek = { profile: firstProfile(), calendar, fromMs }
  const own = plan.weeklyQuota >= EVERY_POLL ? null : atOnce(plannedWeek(plan, expected))
  const rows = values.compare === true ? atOnce(comparedPlans(settings.plan, expected)) : null
  if (values.json === true) {
    const { fromMs: _fromMs, evenInHoursS, ...week } = own ?? { fromMs, evenInHoursS: undefined }
    const rest = own === null ? { note: unplanned(plan) } : week
    const compared = rows && { ...(evenInHoursS !== undefined && { evenInHoursS }), plans: rows }
    const figures = { plan: plan.name, weeklyQuota: settings.plan.weeklyQuota, gatewayUnits }
    stdout(JSON.stringify({ ...figures, from: isoSeconds(fromMs), ...rest, ...(rows && { compared }) }))
    return
  }
  const paint = painter(colour)
  if (own === null) stdout(unplanned(plan))
  else for (const line of planLines(settings, own, rows !== null, paint)) stdout(line)
  if (rows !== null) for (const line of comparisonLines(rows, plan.name, paint)) stdout(line)
})

/** @throws BridgeError `settings` where those that the plan depends on are wrong */
function neededSettings(env: Readonly<Record<string, string | undefined>>): Settings {
  const { settings, errors } = examineSettings(env)
  const wrong = errors.filter(({ field }) => NEEDED.test(field))
  if (wrong.length === 0) return settings
  throw new BridgeError('settings', 'settings that the plan depends on are wrong', {
    errors: wrong,
    hint: 'Every setting, its default and its meaning: docs/configuration.md',
  })
}

/** The settings for another plan: its name, and its own figures in place of overrides. */
function otherPlan(text: string | undefined): Record<string, string> {
  const name = readPlan(text)
  if (name === undefined) return {}
  const own = Object.fromEntries(OVERRIDES.map((setting) => [setting, '']))
  return { ...own, BRIDGE_UPSTREAM_PLAN: name, ...(!hasFunds(name) && { BRIDGE_GATEWAY_WEEKLY_UNITS: '' }) }
}

function unplanned({ weeklyQuota }: PlanFigures): string {
  return `a weekly quota of ${weeklyQuota} pays for a poll every few seconds: no planning is needed`
}

const comparedColumns: readonly Column<ComparedPlan>[] = [
  { title: 'PLAN', width: 10, cell: ({ plan }) => plan },
  { title: 'UNITS', width: 6, isNumber: true, cell: ({ weeklyQuota }) => weeklyQuota.toString() },
  { title: 'PAGE', width: 4, isNumber: true, cell: ({ pageSize }) => pageSize.toString() },
  { title: 'POLLS', width: 6, isNumber: true, cell: ({ polls }) => polls.toString() },
  { title: 'MEAN DELAY', width: 10, isNumber: true, cell: ({ meanDelayS }) => seconds(meanDelayS) },
  { title: 'EVENLY SPACED', width: 13, isNumber: true, cell: (row) => seconds(row.evenMeanDelayS) },
  { title: 'WORST', width: 9, isNumber: true, cell: ({ worstDelayS }) => seconds(worstDelayS) },
  { title: 'OVERFLOW', width: 8, isNumber: true, cell: ({ overflowRisk }) => percent(overflowRisk) },
  { title: 'FUNDS', cell: ({ funds }) => (funds ? 'yes' : 'no') },
]

function comparisonLines(rows: readonly ComparedPlan[], chosen: PlanName, paint: Paint): string[] {
  return [
    '',
    paint('soft', `all plans; WORST is in hours with items; docs/use/which-plan.md helps to choose`),
    headerRow(comparedColumns, paint),
    ...rows.map(
      (row) => `${tableRow(comparedColumns, row, paint)}${row.plan === chosen ? '  ← this plan' : ''}`,
    ),
  ]
}

function planLines(
  { plan, gatewayUnits }: Pick<Settings, 'plan' | 'gatewayUnits'>,
  week: Week,
  isCompared: boolean,
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
    ...(isCompared ? ['', comparedLine(week, week.evenInHoursS)] : []),
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
  const cells = [
    `  ${hour.hour.toString().padStart(2, '0')}:00`.padEnd(6),
    hour.polls.toFixed(1).padStart(6),
    hour.items.toFixed(hour.items < 10 ? 1 : 0).padStart(6),
    seconds(hour.meanDelayS).padStart(11),
    seconds(hour.worstDelayS).padStart(7),
    percent(hour.overflowRisk).padStart(9),
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
  const gain = Math.round((1 - meanDelayS / delayS) * 100)
  if (gain === 0) return 'the plan is equally fast'
  return `the plan is ${Math.abs(gain)} % ${gain > 0 ? 'faster' : 'slower'}`
}

function percent(share: number): string {
  return share < 0.0005 ? '–' : `${(share * 100).toFixed(1)} %`
}

function seconds(value: number): string {
  if (value >= 5400) return `${(value / 3600).toFixed(1)} h`
  return value >= 90 ? `${(value / 60).toFixed(1)} min` : `${value.toFixed(1)} s`
}
