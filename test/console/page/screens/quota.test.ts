/** Tests what the screen of the quota says and draws, without a browser. */
import { expect, test } from 'vitest'
import type { Arrivals } from '../../../../src/api/operations/arrivals-route.ts'
import type { QuotaAnswer } from '../../../../src/api/operations/quota-route.ts'
import type { Layer } from '../../../../src/console/page/parts/chart/chart-data.ts'
import {
  itemLayers,
  itemsSummary,
  quotaSlots,
  unitLayers,
  unitsSummary,
} from '../../../../src/console/page/screens/quota/quota-charts.ts'
import {
  type ComparedAnswer,
  percent,
  planSentence,
  quotaSentences,
  quotaState,
  secondsWords,
} from '../../../../src/console/page/screens/quota/quota-words.ts'

const answer: QuotaAnswer = {
  date: '2026-02-03',
  from: '2026-02-03T00:00:00Z',
  to: '2026-02-03T00:15:00Z',
  slotSeconds: 300,
  asOf: '2026-02-03T00:07:00.000Z',
  upstreamAheadMs: 0,
  plan: {
    name: 'advanced',
    weeklyQuota: 3500,
    pageSize: 100,
    ratePerSecond: 15,
    burst: 30,
    gatewayUnits: 0,
    reset: 'rolling',
  },
  quota: {
    limit: 3500,
    used: 2340,
    remaining: 1160,
    reset: '2026-02-04T06:00:00Z',
    forecast: 0.61,
    drift: 0,
  },
  weekUnits: { poll: 2000, fill: 340 },
  pollsUntilReset: 80,
  data: [
    { from: '2026-02-03T00:00:00Z', expected: 1.5, units: { poll: 3, fill: 1 }, planned: null },
    { from: '2026-02-03T00:05:00Z', expected: 2.5, units: { poll: 2 }, planned: 1 },
    { from: '2026-02-03T00:10:00Z', expected: 0, units: null, planned: 4 },
  ],
  planned: {
    from: '2026-02-03T00:07:00Z',
    to: '2026-02-03T00:15:00Z',
    polls: 5,
    everySeconds: null,
    moments: ['2026-02-03T00:09:00Z', '2026-02-03T00:11:00Z'],
    remaining: 1155,
  },
  comparison: null,
}
const arrivals: Arrivals = {
  date: '2026-02-03',
  from: answer.from,
  to: answer.to,
  slotSeconds: 300,
  sequence: 9,
  keptSince: null,
  data: [
    { from: '2026-02-03T00:00:00Z', byTime: 4, byRecordedTime: 4 },
    { from: '2026-02-03T00:05:00Z', byTime: null, byRecordedTime: null },
  ],
}

const timeOf = (iso: string): string => iso.slice(11, 16)
const valuesOf = (layer: Layer | undefined): number[] =>
  layer?.kind === 'bars' || layer?.kind === 'steps' ? layer.values.map(({ value }) => value) : []

test('the state of the quota is as good as what is left and what is planned', () => {
  const { quota } = answer
  expect(quotaState(quota)).toBe('enough')
  expect(quotaState({ ...quota, forecast: 1.2 })).toBe('tight')
  expect(quotaState({ ...quota, remaining: 0 })).toBe('spent')
  expect(quotaState({ ...quota, remaining: null })).toBe('unknown')
})

test('the quota is told in sentences, with when units come back', () => {
  expect(quotaSentences(answer, timeOf)).toEqual([
    '2,340 units of 3,500 spent in the last seven days; 1,160 left.',
    'Each unit comes back after seven days, the next 06:00.',
    'What is planned takes 61 % of what is left: 80 polls and the fills and re-scans that are expected.',
  ])
  const weekly = { ...answer, plan: { ...answer.plan, reset: 'weekly' as const } }
  expect(quotaSentences(weekly, timeOf)[0]).toBe(
    '2,340 units of 3,500 spent since the last reset; 1,160 left until 06:00, when all come back.',
  )
  const unknown = { ...answer, quota: { ...answer.quota, used: null } }
  expect(quotaSentences(unknown, timeOf)).toHaveLength(1)
})

test('a count of the upstream that differs is said, with which side counts more', () => {
  const drift = (share: number): string =>
    quotaSentences({ ...answer, quota: { ...answer.quota, drift: share } }, timeOf)
      .slice(3)
      .join('')
  expect(drift(0.02)).toMatch(/^The upstream counts 2 % of the quota more than the bridge. Another program/)
  expect(drift(-0.02)).toBe('The upstream counts 2 % of the quota fewer than the bridge.')
  expect(drift(0.001)).toBe('')
})

test('shares and delays have the digits that count', () => {
  expect([0, 0.0004, 0.052, 0.61, 1.3].map(percent)).toEqual(['0 %', 'below 0.1 %', '5.2 %', '61 %', '130 %'])
  expect([0.42, 18.84, 99.9, 720].map(secondsWords)).toEqual(['0.4 s', '18.8 s', '99.9 s', '12 min'])
})

test('plans are compared with the one in use', () => {
  const plan: ComparedAnswer = {
    plan: 'advanced',
    weeklyQuota: 3500,
    pageSize: 100,
    polls: 3000,
    meanDelayS: 26.6,
    evenMeanDelayS: 80,
    worstDelayS: 300,
    overflowRisk: 0.02,
    funds: true,
  }
  expect(planSentence(plan, plan)).toBe('On advanced, as now, an item waits 26.6 s on average.')
  expect(planSentence({ ...plan, plan: 'ultimate', meanDelayS: 18.8 }, plan)).toBe(
    'On ultimate it would be 18.8 s instead of 26.6 s.',
  )
})

test('the chart of items has what is known: nothing that has not arrived, no track of polls that may not be seen', () => {
  const layers = itemLayers(answer, arrivals, { data: [], minutes: [] })
  expect(layers.map(({ name }) => name)).toEqual(['arrived', 'expected', 'polls planned', 'polls made'])
  expect(valuesOf(layers[0])).toEqual([4])
  expect(itemLayers({ ...answer, planned: null }, null, null).map(({ name }) => name)).toEqual(['expected'])
  expect(quotaSlots(answer)).toMatchObject({ stepMs: 300_000 })
  expect(itemsSummary(answer, arrivals)).toBe('4 items are expected on this day. 4 have arrived so far.')
})

test('where a poll is planned every few seconds, the track says so instead of drawing each', () => {
  const planned = {
    ...answer.planned,
    from: answer.from,
    to: answer.to,
    polls: 500,
    remaining: 1,
    everySeconds: 0.605,
    moments: [],
  }
  const track = itemLayers({ ...answer, planned }, null, null).at(-1)
  expect(track?.name).toBe('polls planned: a poll every 0.6 s')
  expect(track?.kind === 'track' && track.spans).toHaveLength(1)
})

test('units add up over the day: spent, then planned on top, beside an even pace', () => {
  const layers = unitLayers(answer)
  expect(layers.map(({ name }) => name)).toEqual([
    'spent',
    'with the polls planned',
    'a seventh of the week, evenly',
  ])
  expect(valuesOf(layers[0])).toEqual([4, 6])
  expect(valuesOf(layers[1])).toEqual([7, 11])
  expect(valuesOf(layers[2]).at(-1)).toBe(500)
  expect(unitsSummary(answer)).toBe(
    '6 units spent on this day. 5 more polls are planned; 1,155 units will be left at its end.',
  )
})
