/** Turns the quota of a London day into the layers of its two charts: items and polls, and units spent. */
import type { Arrivals } from '../../../../api/operations/arrivals-route.ts'
import type { QuotaAnswer } from '../../../../api/operations/quota-route.ts'
import type { Interval, Layer, Slots } from '../../parts/chart/chart-data.ts'
import { POLL_PURPOSES, pollTrack } from '../../parts/poll-tracks.ts'
import type { PollsOfDay } from '../../parts/reading-answers.ts'

const WEEK_DAYS = 7

/** The slots of the day. */
export function quotaSlots({
  from,
  to,
  slotSeconds,
}: Pick<QuotaAnswer, 'from' | 'to' | 'slotSeconds'>): Slots {
  return { fromMs: Date.parse(from), toMs: Date.parse(to), stepMs: slotSeconds * 1000 }
}

/** Items expected and arrived, polls planned and made. `arrivals` and `polls`: null where they are not known. */
export function itemLayers(quota: QuotaAnswer, arrivals: Arrivals | null, polls: PollsOfDay | null): Layer[] {
  const stepMs = quota.slotSeconds * 1000
  const arrived = (arrivals?.data ?? []).flatMap(({ from, byTime }) =>
    byTime === null ? [] : [slot(from, stepMs, byTime)],
  )
  const expected = quota.data.map(({ from, expected: value }) => slot(from, stepMs, value))
  return [
    ...(arrivals === null ? [] : [{ kind: 'bars', name: 'arrived', tone: 'main', values: arrived } as const]),
    { kind: 'steps', name: 'expected', tone: 'second', values: expected, isDashed: true },
    ...(quota.planned === null ? [] : [plannedTrack(quota.planned)]),
    ...(polls === null
      ? []
      : [pollTrack(polls, { name: 'polls made', tone: 'main', purposes: POLL_PURPOSES })]),
  ]
}

function plannedTrack({ from, to, everySeconds, moments }: NonNullable<QuotaAnswer['planned']>): Layer {
  const label = `a poll every ${Math.round((everySeconds ?? 0) * 10) / 10} s`
  const spans = everySeconds === null ? [] : [{ fromMs: Date.parse(from), toMs: Date.parse(to), label }]
  const name = everySeconds === null ? 'polls planned' : `polls planned: ${label}`
  return { kind: 'track', name, tone: 'second', atMs: moments.map((moment) => Date.parse(moment)), spans }
}

/**
 * Units since the start of the day: spent, planned on top of them, and the line of one seventh of the weekly quota a day. Fills
 * and re-scans to come are not in the plan of polls.
 */
export function unitLayers(quota: QuotaAnswer): Layer[] {
  const stepMs = quota.slotSeconds * 1000
  const spent: Interval[] = []
  const planned: Interval[] = []
  const even: Interval[] = []
  let sum = 0
  let ahead = 0
  quota.data.forEach(({ from, units, planned: polls }, index) => {
    sum += Object.values(units ?? {}).reduce((all, count) => all + count, 0)
    if (units !== null) spent.push(slot(from, stepMs, sum))
    if (polls !== null) {
      ahead += polls
      planned.push(slot(from, stepMs, sum + ahead))
    }
    even.push(slot(from, stepMs, (quota.plan.weeklyQuota / WEEK_DAYS) * ((index + 1) / quota.data.length)))
  })
  return [
    ...(spent.length === 0 ? [] : [{ kind: 'steps', name: 'spent', tone: 'main', values: spent } as const]),
    ...(planned.length === 0
      ? []
      : [
          {
            kind: 'steps',
            name: 'with the polls planned',
            tone: 'second',
            values: planned,
            isDashed: true,
          } as const,
        ]),
    { kind: 'steps', name: 'a seventh of the week, evenly', tone: 'quiet', values: even, isDashed: true },
  ]
}

function slot(from: string, stepMs: number, value: number): Interval {
  const fromMs = Date.parse(from)
  return { fromMs, toMs: fromMs + stepMs, value }
}

/** What the chart of items shows at a glance. */
export function itemsSummary(quota: QuotaAnswer, arrivals: Arrivals | null): string {
  const expected = Math.round(quota.data.reduce((sum, slot) => sum + slot.expected, 0))
  const counted = arrivals?.data.filter(({ byTime }) => byTime !== null) ?? null
  const arrived = counted?.reduce((sum, { byTime }) => sum + (byTime ?? 0), 0)
  const came = arrived === undefined ? '' : ` ${arrived.toLocaleString('en-GB')} have arrived so far.`
  return `${expected.toLocaleString('en-GB')} items are expected on this day.${came}`
}

/** What the chart of units shows at a glance. */
export function unitsSummary(quota: QuotaAnswer): string {
  const spent = quota.data.reduce(
    (sum, { units }) => sum + Object.values(units ?? {}).reduce((all, count) => all + count, 0),
    0,
  )
  const planned = quota.planned
  const more =
    planned === null
      ? ''
      : ` ${planned.polls.toLocaleString('en-GB')} more polls are planned; ${planned.remaining.toLocaleString('en-GB')} units will be left at its end.`
  return `${spent.toLocaleString('en-GB')} units spent on this day.${more}`
}
