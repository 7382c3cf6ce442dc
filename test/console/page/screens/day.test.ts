/** Tests what the screen of a day says and draws, without a browser. */
import { expect, test } from 'vitest'
import type { Arrivals } from '../../../../src/api/operations/arrivals-route.ts'
import { contentOf } from '../../../../src/console/page/parts/chart/chart-data.ts'
import { list } from '../../../../src/console/page/parts/elapsed.ts'
import { gapStateWords, gapsOver, withOpenGaps } from '../../../../src/console/page/parts/gaps.ts'
import type { DayAnswer, PollAnswer, PollsOfDay } from '../../../../src/console/page/parts/reading-answers.ts'
import { weeksBetween } from '../../../../src/console/page/screens/day/calendar-weeks.ts'
import { chartSummary, dayLayers, daySlots } from '../../../../src/console/page/screens/day/day-chart.ts'
import {
  type DayState,
  figuresOf,
  stateOfDay,
  verdictOf,
} from '../../../../src/console/page/screens/day/day-words.ts'

const time = { clock: (iso: string) => iso.slice(11, 16) }

const whole: DayAnswer = {
  date: '2026-02-03',
  polled: 1871,
  filled: 38,
  swept: 3,
  backfilled: 0,
  amended: 0,
  rejected: 0,
  gapsLeft: 0,
  eodSeen: true,
  walk: 'complete',
  walkedAt: '2026-02-03T19:40:12.000Z',
  unreconciled: [],
  since: null,
  units: { poll: 380, fill: 12, sweep: 20 },
}
const span = { from: '2026-02-03T09:00:00Z', to: '2026-02-03T17:00:00Z' }

const states: readonly [string, Partial<DayAnswer>, DayState, RegExp][] = [
  ['read again to its end', {}, 'whole', /read again to its end at 19:40: nothing was missing/],
  ['with one open gap', { gapsLeft: 1 }, 'gaps', /^One gap is still open: items may be missing in it/],
  ['with open gaps', { gapsLeft: 3 }, 'gaps', /^3 gaps are still open/],
  ['with a gap, read again all the same', { gapsLeft: 1, walk: 'complete' }, 'gaps', /may be missing/],
  [
    'that goes on',
    { walk: 'not_due', walkedAt: null, unreconciled: [span] },
    'running',
    /until then nothing proves/,
  ],
  [
    'whose second reading waits',
    { walk: 'pending', walkedAt: null },
    'running',
    /waits for the upstream or for units/,
  ],
  ['that the plan does not pay for', { walk: 'over_budget' }, 'unproven', /plan does not pay/],
  ['that failed', { walk: 'failed' }, 'unproven', /never answered/],
  ['that was missed', { walk: 'missed' }, 'unproven', /no bridge led/],
  [
    'read again but for a span',
    { unreconciled: [span] },
    'unproven',
    /09:00–17:00 was polled, but not read again/,
  ],
  ['without releases', { walk: 'none', polled: 0, filled: 0, swept: 0 }, 'empty', /Nothing is released/],
  ['without a second reading', { walk: 'none' }, 'unproven', /is not read again/],
  ['in a state of a later version', { walk: 'asleep' }, 'unproven', /Second reading: asleep/],
]

for (const [name, change, state, verdict] of states)
  test(`a day ${name} is said to be so, and never better`, () => {
    const day = { ...whole, ...change }
    expect(stateOfDay(day)).toBe(state)
    expect(verdictOf(day, time)).toMatch(verdict)
    if (state !== 'whole') expect(verdictOf(day, time)).not.toMatch(/nothing was missing/)
  })

test('figures are sentences, and those that are zero are left out', () => {
  expect(figuresOf(whole, time)).toEqual([
    '1,912 items: 1,871 by polls, 38 by fills (what a full page had left out) and 3 by re-scans (behind the cursor).',
    'The upstream’s end mark of the day is held.',
    '412 units spent: 380 for polls, 20 for re-scans and 12 for fills.',
  ])
  const other = {
    ...whole,
    polled: 10,
    filled: 0,
    swept: 0,
    amended: 2,
    rejected: 1,
    eodSeen: false,
    units: {},
  }
  expect(figuresOf({ ...other, since: '2026-02-03T12:01:00Z' }, time)).toEqual([
    '8 items: 10 by polls.',
    '2 of these contents changed an item that was held already.',
    '1 unreadable item stored as rejected; `bridge rejected` lists them.',
    'The upstream’s end mark of the day is not held; it is a hint, not a proof.',
    'Counted from 12:01 on: the bridge began within the day.',
  ])
})

test('figures of a day that goes on are said to be older than its chart', () => {
  const running: DayAnswer = { ...whole, walk: 'not_due', walkedAt: null }
  expect(figuresOf(running, time)[0]).toBe('Counted once a minute: the chart may be ahead of these figures.')
  expect(figuresOf(whole, time).join()).not.toContain('once a minute')
})

test('texts are listed as English does', () => {
  expect([[], ['a'], ['a', 'b'], ['a', 'b', 'c']].map(list)).toEqual(['', 'a', 'a and b', 'a, b and c'])
})

const gap = {
  id: 'g1',
  from: '2026-02-03T07:00:00Z',
  to: '2026-02-03T07:00:09Z',
  cause: 'overflow',
  openedAt: '2026-02-03T07:00:10Z',
  found: 0,
  closedAt: null,
}
const day = { fromMs: Date.parse('2026-02-03T00:00:00Z'), toMs: Date.parse('2026-02-04T00:00:00Z') }

test('a gap is shown in its last state, and only on the days that it lies over', () => {
  const closed = { ...gap, found: 41, closedAt: '2026-02-03T07:01:00Z' }
  const opened = { type: 'bridge.gap.opened.v1', data: gap }
  const filled = { type: 'bridge.gap.filled.v1', data: closed }
  const other = {
    type: 'bridge.gap.opened.v1',
    data: { ...gap, id: 'g2', from: '2026-02-05T07:00:00Z', to: '2026-02-05T08:00:00Z' },
  }
  expect(gapsOver(day, [opened, filled, other], [])).toEqual([{ ...closed, state: 'filled' }])
  expect(gapsOver(day, [opened], [{ ...gap, found: 7 }])).toEqual([{ ...gap, found: 7, state: 'open' }])
  // The status is older than the event: the gap stays filled.
  expect(gapsOver(day, [opened, filled], [gap])[0]?.state).toBe('filled')
  expect(gapsOver(day, [], null)).toEqual([])
})

test('a day has the gaps that are open now, not those of a report that is a minute old', () => {
  const dateOf = (iso: string): string => iso.slice(0, 10)
  expect(withOpenGaps({ ...whole, gapsLeft: 1 }, [], dateOf).gapsLeft).toBe(0)
  expect(withOpenGaps(whole, [gap], dateOf).gapsLeft).toBe(1)
  expect(withOpenGaps({ ...whole, date: '2026-02-04' }, [gap], dateOf).gapsLeft).toBe(0)
  const night = { ...gap, to: '2026-02-04T07:00:00Z' }
  expect(withOpenGaps({ ...whole, date: '2026-02-04' }, [night], dateOf).gapsLeft).toBe(1)
  // Not known, or not all of them.
  expect(withOpenGaps({ ...whole, gapsLeft: 2 }, null, dateOf).gapsLeft).toBe(2)
  expect(withOpenGaps({ ...whole, gapsLeft: 2 }, Array(1000).fill(gap), dateOf).gapsLeft).toBe(2)
})

test('what became of a gap never sounds better than it is', () => {
  expect(gapStateWords({ ...gap, state: 'open' })).toBe('open: items may be missing')
  expect(gapStateWords({ ...gap, found: 5, state: 'open' })).toBe('open: 5 found so far, more may be missing')
  expect(gapStateWords({ ...gap, found: 41, state: 'filled' })).toBe('filled, 41 found')
  expect(gapStateWords({ ...gap, state: 'given_up' })).toBe('given up: items may be missing for good')
})

const arrivals: Arrivals = {
  date: '2026-02-03',
  from: '2026-02-03T00:00:00Z',
  to: '2026-02-04T00:00:00Z',
  slotSeconds: 300,
  sequence: 9,
  keptSince: null,
  data: [
    { from: '2026-02-03T07:00:00Z', byTime: 212, byRecordedTime: 200 },
    { from: '2026-02-03T07:05:00Z', byTime: 0, byRecordedTime: 12 },
    { from: '2026-02-03T07:10:00Z', byTime: null, byRecordedTime: null },
  ],
}

test('the chart of a day leaves out what is not known, and shows no track of polls to who may not see them', () => {
  const facts = { arrivals, gaps: null, polls: null, unreconciled: [] }
  const layers = dayLayers(facts)
  expect(layers.map(({ name }) => name)).toEqual(['published', 'received'])
  expect(layers[0]?.kind === 'bars' && layers[0].values.map(({ value }) => value)).toEqual([212, 0])
  expect(daySlots(arrivals)).toEqual({ ...day, stepMs: 300_000 })
  expect(chartSummary(facts, (ms) => new Date(ms).toISOString().slice(11, 16))).toBe(
    '212 contents of announcements, at most 212 in the five minutes from 07:00.',
  )
})

test('a day of which no request is kept has no tracks of them', () => {
  const facts = { arrivals, gaps: null, unreconciled: [] }
  const names = dayLayers({ ...facts, polls: { data: [], minutes: [] } }).map(({ name }) => name)
  expect(names).toEqual(['published', 'received'])
})

test('polls, re-scans, gaps and spans that were not read again have layers of their own', () => {
  const at = Date.parse('2026-02-03T07:00:01Z')
  const request = (purpose: PollAnswer['purpose'], upstreamAt: string) => {
    return {
      at: upstreamAt,
      upstreamAt,
      purpose,
      newItems: 0,
      pageFull: false,
      nextAfterSeconds: null,
      durationMs: 80,
    }
  }
  const minute = { from: '2026-02-03T07:01:00Z' }
  const polls: PollsOfDay = {
    data: [request('poll', '2026-02-03T07:00:00Z'), request('sweep', '2026-02-03T07:00:01Z')],
    minutes: [
      { ...minute, upstreamFrom: minute.from, purpose: 'poll', requests: 60 },
      { ...minute, upstreamFrom: null, purpose: 'fill', requests: 2 },
    ],
  }
  const layers = dayLayers({ arrivals, gaps: [{ ...gap, state: 'open' }], polls, unreconciled: [span] })
  expect(layers.map(({ name }) => name)).toEqual([
    'published',
    'received',
    'gaps',
    'polls',
    'fills and re-scans',
    'not read again',
  ])
  expect(layers[2]?.kind === 'spans' && layers[2].spans[0]?.label).toBe(
    'open: items may be missing (more arrived at once than a poll returns)',
  )
  expect(layers[4]?.kind === 'track' && layers[4].atMs).toEqual([at])
  const five = { fromMs: at - 1000, toMs: at - 1000 + 300_000 }
  expect(layers.slice(3, 5).map((layer) => contentOf(layer, five, String))).toEqual(['61', '3'])
})

test('a calendar has whole weeks from Monday to Sunday, the latest first', () => {
  const weeks = weeksBetween('2026-02-01', '2026-02-10')
  expect(weeks.map(([monday]) => monday)).toEqual(['2026-02-09', '2026-02-02', '2026-01-26'])
  expect(weeks[0]).toHaveLength(7)
  expect(weeks[0]?.[6]).toBe('2026-02-15')
  expect(weeksBetween('2026-02-03', '2026-02-03')).toHaveLength(1)
})
