/**
 * Serves `GET /v1/quota`: how the weekly units are spent and planned, on any node, from the figures of the leader. Shows one
 * London day slot by slot, and on request what other plans would give.
 */
import { z } from 'zod'
import type { Calendar } from '../../core/calendar/calendar.ts'
import { isoMillis, isoSeconds } from '../../core/dates.ts'
import { DAY_MS, SECOND_MS } from '../../core/durations.ts'
import { planNames } from '../../core/plans.ts'
import { purposes } from '../../core/purpose.ts'
import { quotaAt } from '../../governor/quota/ledger.ts'
import { type ComparedPlan, comparedPlans } from '../../governor/schedule/plan-comparison.ts'
import { type Route, sendJson } from '../../http/route.ts'
import { isoTime } from '../../http/schemas/json-schema.ts'
import type { LeaderQuota } from '../../http/schemas/leader-quota-schema.ts'
import { quotaSchema } from '../../http/schemas/leader-report-schema.ts'
import type { Clock } from '../../lifecycle/clock.ts'
import { inSlices } from '../../lifecycle/slices.ts'
import { dateParameter, dayShape, readLondonDay, SLOT_MS, shownDay } from './london-day.ts'
import { daySlots, type PlannedPolls, plannedPollsOf, presentMsOf } from './planned-day.ts'
import { Remembered } from './remembered.ts'

/** What the route works with. */
export interface QuotaParts {
  /** The figures of the leader. Rejects with HttpProblem `unavailable` where none answers. */
  figures: () => Promise<LeaderQuota>
  calendar: Calendar
  clock: Clock
}

/** For so long a plan of a day is shown before it is computed again, ms; it takes up to a second. */
const PLAN_SHOWN_MS = 60_000
/** The same of a comparison of plans, which takes seconds. */
const COMPARISON_SHOWN_MS = 6 * 60 * 60_000
/** Most moments of planned polls in an answer. */
const MOST_MOMENTS = 1000

const units = z.record(z.string(), z.int())
const seconds = z.number()

const comparedSchema = z.object({
  plan: z.enum(planNames).describe('Name of the plan.'),
  weeklyQuota: z.int().describe('Its units a week; of the plan in use as set.'),
  pageSize: z.int().describe('Most items of one answer.'),
  polls: z.int().describe('Polls of the week.'),
  meanDelayS: seconds.describe('Mean time from the appearance of an item to its poll, seconds.'),
  evenMeanDelayS: seconds.describe('The same with as many polls spread evenly.'),
  worstDelayS: seconds.describe('Longest possible wait in an hour of a business day with items, seconds.'),
  overflowRisk: z.number().describe('Highest probability that one poll meets more than a page.'),
  funds: z.boolean().describe('Whether upstream answers fund requests on it.'),
})

const plannedSchema = z.object({
  from: isoTime('From here on polls are planned.'),
  to: isoTime('The end of the day.'),
  polls: z.int().describe('How many are planned.'),
  everySeconds: z
    .number()
    .describe('Where the quota pays for a poll every few seconds: their interval, and `moments` is empty.')
    .nullable(),
  moments: z.array(isoTime('When a poll is planned.')).describe(`The next ${MOST_MOMENTS} at most.`),
  remaining: z
    .int()
    .describe('Units left at the end of the day, with fills and re-scans as they are expected.'),
})

const answerSchema = z.object({
  ...dayShape,
  slotSeconds: z.int().describe('Length of a slot, seconds.'),
  asOf: isoTime("When the leader gave these figures, by the leader's clock."),
  upstreamAheadMs: z
    .number()
    .describe("Upstream's clock minus the leader's, ms; null while it is not known.")
    .nullable(),
  plan: z.object({
    name: z.enum(planNames).describe('`BRIDGE_UPSTREAM_PLAN`.'),
    weeklyQuota: z.int().describe('Units a week.'),
    pageSize: z.int().describe('Most items of one answer.'),
    ratePerSecond: z.number().describe('Requests a second.'),
    burst: z.number().describe('Requests at once.'),
    gatewayUnits: z.int().describe('Units a week that are kept for fund requests.'),
    reset: z
      .enum(['rolling', 'weekly'])
      .describe('Whether units come back one by one after seven days, or all at once.'),
  }),
  quota: quotaSchema,
  weekUnits: units.describe(
    'The units of `quota.used`, by what for. Those of fund requests, `gateway`, are shown apart only for `BRIDGE_ADMIN_TOKEN`; what is left of `quota.used` is theirs.',
  ),
  pollsUntilReset: z.int().describe('Polls planned until `quota.reset`.'),
  data: z
    .array(
      z.object({
        from: isoTime('The first moment of the slot.'),
        expected: z.number().describe('Items expected in it, by what the leader has learnt so far.'),
        units: units
          .describe('Units spent in it, by what for. null: it has not begun, or it is more than 15 days ago.')
          .nullable(),
        planned: z
          .int()
          .describe('Polls still planned in it; null where none are planned yet, or it is over.')
          .nullable(),
      }),
    )
    .describe('The slots of the day, the earliest first.'),
  planned: plannedSchema
    .describe('The polls planned for the rest of the day; null for a day that is over, and after tomorrow.')
    .nullable(),
  comparison: z
    .object({
      from: isoTime('The week that is compared begins here.'),
      plans: z.array(comparedSchema).describe('Every plan, the smallest first.'),
    })
    .describe(
      'What each plan would give in the next week, with the arrivals that the leader expects; null unless asked for.',
    )
    .nullable(),
})

/** The answer. */
export type QuotaAnswer = z.infer<typeof answerSchema>

/** The route. */
export function quotaRoute({ figures: readFigures, calendar, clock }: QuotaParts): Route {
  const now = (): number => clock.now()
  const plans = new Remembered<PlannedPolls | null>(clock, PLAN_SHOWN_MS)
  const comparisons = new Remembered<ComparedPlan[]>(clock, COMPARISON_SHOWN_MS)
  const compared = async (figures: LeaderQuota): Promise<QuotaAnswer['comparison']> => {
    const { plan, profile } = figures
    const fromMs = calendar.momentMs(calendar.londonDate(presentMsOf(figures) + DAY_MS), 0)
    const steps = () => comparedPlans(plan, { profile, calendar, fromMs })
    const rows = await comparisons.get(`${fromMs} ${JSON.stringify(plan)}`, () => inSlices(steps(), now))
    return { from: isoSeconds(fromMs), plans: rows }
  }
  return {
    method: 'GET',
    path: '/v1/quota',
    scope: 'admin',
    summary:
      'The weekly quota by what it is spent on, and a London day in slots of five minutes: items expected, units spent, polls planned; with `compare=true` also what each plan would give. Any node asks the leader. See [quota.md](../run/quota.md#quota).',
    parameters: {
      date: dateParameter,
      compare: z
        .enum(['true', 'false'])
        .describe(
          '`true`: with `comparison`, whose first answer in six hours takes seconds; default `false`.',
        ),
    },
    answers: { 200: { meaning: 'The quota and the day.', schema: answerSchema } },
    problems: ['unavailable'],
    async handle({ query, caller, response, gone }) {
      const compare = query.text('compare') ?? 'false'
      if (compare !== 'true' && compare !== 'false') query.refuse('compare', 'must be true or false')
      readLondonDay(query, calendar, now())
      query.check()
      const figures = await readFigures()
      const day = readLondonDay(query, calendar, presentMsOf(figures))
      const steps = () => plannedPollsOf(figures, calendar, day)
      const planned = await plans.get(day.date, () => inSlices(steps(), now))
      const comparison = compare === 'true' ? await compared(figures) : null
      if (gone.aborted) return
      const { plan, quota, pollsUntilReset, asOf, upstreamAheadMs } = figures
      const { quotaReset, ...shownPlan } = plan
      const shownUnits = caller.seesAllTenants ? (units: Units) => units : withoutGateway
      const body: QuotaAnswer = {
        ...shownDay(day),
        slotSeconds: SLOT_MS / SECOND_MS,
        asOf,
        upstreamAheadMs,
        plan: { ...shownPlan, reset: quotaReset === 'rolling' ? 'rolling' : 'weekly' },
        quota,
        weekUnits: shownUnits(weekUnits(figures)),
        pollsUntilReset: Math.round(pollsUntilReset),
        data: daySlots(figures, calendar, day, planned).map(({ startMs, expected, units, planned }) => ({
          from: isoSeconds(startMs),
          expected: Math.round(expected * 100) / 100,
          units: units && shownUnits(units),
          planned,
        })),
        planned: planned && shownPlanned(planned),
        comparison,
      }
      sendJson(response, 200, Buffer.from(JSON.stringify(body)))
    },
  }
}

type Units = Readonly<Record<string, number>>

/** Of fund requests a tenant is shown no line of their own. It is no secret how many there were: the sum counts them. */
function withoutGateway({ gateway: _, ...units }: Units): Units {
  return units
}

function shownPlanned({ fromMs, toMs, pollsMs, ...rest }: PlannedPolls): QuotaAnswer['planned'] {
  const moments = pollsMs.slice(0, MOST_MOMENTS).map(isoMillis)
  return { ...rest, from: isoSeconds(fromMs), to: isoSeconds(toMs), moments }
}

/** The units that count at the moment, by purpose; purposes without any are left out. */
function weekUnits({ ledger, plan, asOf }: LeaderQuota): Record<string, number> {
  const spent = new Map(ledger)
  const used = purposes.map((purpose) => {
    const quota = quotaAt(spent, plan.weeklyQuota, plan.quotaReset, Date.parse(asOf), [purpose])
    return [purpose, quota.used] as const
  })
  return Object.fromEntries(used.filter(([, count]) => count > 0))
}
