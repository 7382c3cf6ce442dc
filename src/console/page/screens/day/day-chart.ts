/** Turns what is known of a London day into the layers of its chart: arrivals, gaps, polls, re-scans. */
import type { Arrivals } from '../../../../api/operations/arrivals-route.ts'
import type { Interval, Layer, Slots, Span } from '../../parts/chart/chart-data.ts'
import { causeWords, gapStateWords, type KnownGap } from '../../parts/gaps.ts'
import { POLL_PURPOSES, pollTrack, REREAD_PURPOSES } from '../../parts/poll-tracks.ts'
import type { PollsOfDay } from '../../parts/reading-answers.ts'

/** What is known of the day; null: not known, or not to be shown. */
export interface DayFacts {
  arrivals: Arrivals
  gaps: readonly KnownGap[] | null
  polls: PollsOfDay | null
  unreconciled: readonly { from: string; to: string }[]
}

/** The slots of the day: its five minutes. */
export function daySlots({ from, to, slotSeconds }: Arrivals): Slots {
  return { fromMs: Date.parse(from), toMs: Date.parse(to), stepMs: slotSeconds * 1000 }
}

/** The layers of the chart of a day. */
export function dayLayers({ arrivals, gaps, polls, unreconciled }: DayFacts): Layer[] {
  const slotMs = arrivals.slotSeconds * 1000
  const values = (countOf: (slot: Arrivals['data'][number]) => number | null): Interval[] =>
    arrivals.data.flatMap((slot) => {
      const value = countOf(slot)
      const fromMs = Date.parse(slot.from)
      return value === null ? [] : [{ fromMs, toMs: fromMs + slotMs, value }]
    })
  // None of a day by the bridge's own clock: that day is another one where the two clocks are days apart, as in the demo.
  const received = values(({ byRecordedTime }) => byRecordedTime)
  return [
    { kind: 'bars', name: 'published', tone: 'main', values: values(({ byTime }) => byTime) },
    ...(received.some(({ value }) => value > 0)
      ? [{ kind: 'steps', name: 'received', tone: 'second', values: received } as const]
      : []),
    ...(gaps === null || gaps.length === 0
      ? []
      : [{ kind: 'spans', name: 'gaps', tone: 'bad', spans: gaps.map(gapSpan) } as const]),
    ...(polls === null || isEmpty(polls)
      ? []
      : [
          pollTrack(polls, { name: 'polls', tone: 'main', purposes: POLL_PURPOSES }),
          pollTrack(polls, { name: 'fills and re-scans', tone: 'second', purposes: REREAD_PURPOSES }),
        ]),
    ...(unreconciled.length === 0
      ? []
      : [
          {
            kind: 'track',
            name: 'not read again',
            tone: 'quiet',
            atMs: [],
            spans: unreconciled.map(unreadSpan),
          } as const,
        ]),
  ]
}

/** Whether no request of the day is kept. */
export function isEmpty({ data, minutes }: PollsOfDay): boolean {
  return data.length === 0 && minutes.length === 0
}

function gapSpan(gap: KnownGap): Span {
  const label = `${gapStateWords(gap)} (${causeWords(gap.cause)})`
  return { fromMs: Date.parse(gap.from), toMs: Date.parse(gap.to), label }
}

function unreadSpan({ from, to }: { from: string; to: string }): Span {
  return { fromMs: Date.parse(from), toMs: Date.parse(to), label: 'polled only' }
}

/** About the upstream's present, ms since 1970: the first slot that has not begun; undefined where the day is over. */
export function presentOf({ data }: Arrivals): number | undefined {
  const begun = data.findLastIndex(({ byTime }) => byTime !== null)
  const next = data[begun + 1]
  return next === undefined ? undefined : Date.parse(next.from)
}

/** What the chart shows at a glance, for those who do not see it. */
export function chartSummary({ arrivals }: DayFacts, timeOf: (ms: number) => string): string {
  const counted = arrivals.data.filter(({ byTime }) => byTime !== null)
  const total = counted.reduce((sum, { byTime }) => sum + (byTime ?? 0), 0)
  const peak = counted.reduce<(typeof counted)[number] | null>(
    (most, slot) => ((slot.byTime ?? 0) > (most?.byTime ?? 0) ? slot : most),
    null,
  )
  const unknown = arrivals.keptSince === null ? '' : ' Earlier events are no longer kept here.'
  if (peak === null) return `No announcement in the counted part of the day.${unknown}`
  const share = `${peak.byTime?.toLocaleString('en-GB')} in the five minutes from ${timeOf(Date.parse(peak.from))}`
  return `${total.toLocaleString('en-GB')} contents of announcements, at most ${share}.${unknown}`
}
