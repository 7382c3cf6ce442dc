/**
 * Shows a London day: whether anything is missing, the arrivals with gaps, polls and re-scans over them, the figures of the
 * report, and a calendar that leads to the other days.
 */
import { type ComponentChildren, h } from 'preact'
import { Chart } from '../../parts/chart/chart.ts'
import { Freshness } from '../../parts/freshness.ts'
import { gapsOver, isGapEvent, withOpenGaps } from '../../parts/gaps.ts'
import type { DayAnswer, PollsOfDay } from '../../parts/reading-answers.ts'
import { type Problem, ProblemNote, StateMark, type StateTone } from '../../parts/state.ts'
import { clockOf, londonTime } from '../../parts/times.ts'
import type { ScreenProps } from '../../shell/navigation.ts'
import { type Fresh, useAnswer } from '../../shell/polling.ts'
import { hrefOf } from '../../shell/router.ts'
import { useConsole, useTitle } from '../../shell/services.ts'
import { useStore } from '../../shell/store.ts'
import { useShortcuts } from '../../shell/use-shortcuts.ts'
import { dateWords, shifted } from './calendar-weeks.ts'
import { DayCalendar } from './day-calendar.ts'
import { chartSummary, type DayFacts, dayLayers, daySlots, isEmpty, presentOf } from './day-chart.ts'
import { type DayState, dayStates, figuresOf, stateOfDay, type TimeWords, verdictOf } from './day-words.ts'
import { GapTable } from './gap-table.ts'

/** The leader writes reports once a minute. */
const REPORT_EVERY_MS = 60_000
/** A slot of the chart has five minutes, and a day has thousands of polls. */
const CHART_EVERY_MS = 30_000
const KEPT_DAYS = 400
const MOST_GAP_EVENTS = 1000
const DATE = /^\d{4}-\d\d-\d\d$/

const tones: Readonly<Record<DayState, StateTone>> = {
  whole: 'good',
  gaps: 'bad',
  unproven: 'notice',
  running: 'idle',
  empty: 'idle',
}

/** The London date of a time. */
function dateOf(iso: string): string {
  return londonTime(Date.parse(iso)).date
}

const timeWords: TimeWords = {
  clock(iso, date) {
    const moment = londonTime(Date.parse(iso))
    const clock = clockOf(Date.parse(iso))
    return moment.date === date ? clock : `${clock} on ${dateWords(moment.date)}`
  },
}

/** The screen. The id of the route is a date, `YYYY-MM-DD`; without one it is today in London. */
export function DayScreen({ route: { id } }: ScreenProps): ComponentChildren {
  const { router, clock, api, status } = useConsole()
  const reported = useStore(status.reported).status
  const open = reported?.gaps ?? null
  const report = useAnswer('GET /v1/report', { with: { days: KEPT_DAYS } }, REPORT_EVERY_MS)
  const days = (report.value?.data ?? []).map((day) => withOpenGaps(day, open, dateOf))
  // The upstream's day, by its clock, not ours. The leader's first report comes after a minute.
  const upstreamMs = clock.now() + api.aheadMs() + (reported?.upstream.aheadMs ?? 0)
  const today = days.at(-1)?.date ?? londonTime(upstreamMs).date
  const date = id ?? today
  useTitle(`Day ${date}`)
  const go = (by: number): void => router.go(hrefOf('day', shifted(date, by)))
  useShortcuts([
    { keys: '[', group: 'Day', does: 'The day before', run: () => go(-1) },
    { keys: ']', group: 'Day', does: 'The day after', run: () => date < today && go(1) },
  ])
  if (id === null && report.value === null && report.problem === null)
    return h('p', { 'aria-busy': 'true' }, 'Reading the report …')
  if (!DATE.test(date) || Number.isNaN(Date.parse(date)))
    return h('p', { class: 'note' }, 'There is no such day. ', h('a', { href: hrefOf('day') }, 'Show today'))
  const day = days.find((one) => one.date === date)
  return h(
    'div',
    { class: 'stack' },
    h(
      'header',
      { class: 'head-row' },
      h('h1', null, dateWords(date)),
      h(
        'nav',
        { 'aria-label': 'Other days' },
        h('a', { href: hrefOf('day', shifted(date, -1)), rel: 'prev' }, '← Day before'),
        date < today && h('a', { href: hrefOf('day', shifted(date, 1)), rel: 'next' }, 'Day after →'),
        date !== today && h('a', { href: hrefOf('day') }, 'Today'),
      ),
    ),
    h(Freshness, { atMs: report.atMs, everyMs: REPORT_EVERY_MS }),
    report.problem !== null && h(ProblemNote, { problem: report.problem }),
    h(Verdict, { day, isLoaded: report.value !== null, date }),
    h(DayChart, { key: date, date, day, isToday: date === today }),
    day !== undefined && h(Figures, { day }),
    h(DayCalendar, { days, chosen: date, today }),
  )
}

function Verdict({
  day,
  isLoaded,
  date,
}: {
  day: DayAnswer | undefined
  isLoaded: boolean
  date: string
}): ComponentChildren {
  if (!isLoaded) return h('p', { class: 'panel', 'aria-busy': 'true' }, 'Reading the report …')
  if (day === undefined)
    return h(
      'p',
      { class: 'panel' },
      h(StateMark, { tone: 'idle' }, 'No report'),
      ` The bridge has no report on ${dateWords(date)}: it did not run then, the day has not begun, or its report is older than ${KEPT_DAYS} days.`,
    )
  const state = stateOfDay(day)
  return h(
    'p',
    { class: 'panel', role: 'status' },
    h(StateMark, { tone: tones[state] }, dayStates[state].word),
    ' ',
    verdictOf(day, timeWords),
  )
}

function Figures({ day }: { day: DayAnswer }): ComponentChildren {
  return h(
    'section',
    { class: 'panel', 'aria-labelledby': 'day-figures' },
    h('h2', { id: 'day-figures' }, 'In figures'),
    h(
      'ul',
      { class: 'plain' },
      figuresOf(day, timeWords).map((sentence) => h('li', { key: sentence }, sentence)),
    ),
  )
}

function DayChart({
  date,
  day,
  isToday,
}: {
  date: string
  day: DayAnswer | undefined
  isToday: boolean
}): ComponentChildren {
  const { session, status } = useConsole()
  const mayRead = session.mayRead('events:read')
  const maySeePolls = session.mayRead('admin')
  const every = isToday ? CHART_EVERY_MS : null
  const arrivals = useAnswer(mayRead ? 'GET /v1/arrivals' : null, { with: { date } }, every)
  const from = arrivals.value?.from
  const events = useAnswer(
    from === undefined ? null : 'GET /v1/disclosures',
    { with: { types: 'gap', since: from, limit: MOST_GAP_EVENTS } },
    every,
  )
  const polls = useAnswer(maySeePolls ? 'GET /v1/polls' : null, { with: { date } }, every)
  const open = useStore(status.reported).status?.gaps ?? null
  if (!mayRead)
    return h(
      'p',
      { class: 'note' },
      'Arrivals, polls and gaps need a token with the scope events:read. This session has none.',
    )
  if (arrivals.problem !== null && arrivals.value === null)
    return h(ProblemNote, { problem: arrivals.problem })
  if (arrivals.value === null) return h('p', { 'aria-busy': 'true' }, 'Counting arrivals …')
  const slots = daySlots(arrivals.value)
  const gaps = gapsOver(slots, (events.value?.data ?? []).filter(isGapEvent), open)
  const facts: DayFacts = {
    arrivals: arrivals.value,
    gaps,
    polls: polls.value,
    unreconciled: day?.unreconciled ?? [],
  }
  return [
    h(
      'section',
      { key: 'arrivals', class: 'panel', 'aria-labelledby': 'day-arrivals' },
      h('h2', { id: 'day-arrivals' }, 'Arrivals'),
      h(Chart, {
        title: `Announcements per five minutes, ${date}`,
        summary: chartSummary(facts, clockOf),
        slots,
        layers: dayLayers(facts),
        slotWords: ({ fromMs, toMs }) => `${clockOf(fromMs)}–${clockOf(toMs)}`,
        nowMs: isToday ? presentOf(arrivals.value) : undefined,
      }),
      h(PollsHint, { polls, maySeePolls }),
      arrivals.problem !== null && h(ProblemNote, { problem: olderShown('Arrivals', arrivals.problem) }),
    ),
    events.problem !== null &&
      h(ProblemNote, {
        key: 'gaps-problem',
        problem: {
          ...events.problem,
          detail: `Gaps that are closed or given up may be missing here: ${events.problem.detail}`,
        },
      }),
    gaps.length > 0 && h(GapTable, { key: 'gaps', gaps }),
    events.value?.more === true &&
      h(
        'p',
        { key: 'more', class: 'hint' },
        `Only the first ${MOST_GAP_EVENTS} changes of gaps since that day are read; later ones may be missing in this list.`,
      ),
  ]
}

function olderShown(what: string, problem: Problem): Problem {
  return { ...problem, detail: `${what} are those of an earlier answer: ${problem.detail}` }
}

/** Why the chart has no tracks of polls, where it has none. */
function PollsHint({
  polls,
  maySeePolls,
}: {
  polls: Fresh<PollsOfDay>
  maySeePolls: boolean
}): ComponentChildren {
  const why = !maySeePolls
    ? 'Polls and re-scans are shown to sessions with the scope admin.'
    : polls.problem !== null
      ? `Polls and re-scans ${polls.value === null ? 'are not shown' : 'may be missing at the end'}: ${polls.problem.detail}`
      : polls.value !== null && isEmpty(polls.value)
        ? 'No poll of this day is kept: they are kept for eight days.'
        : null
  return why === null ? null : h('p', { class: 'hint' }, why)
}
