/** Tests what charts draw and say, without a browser: axes, paths, the words of the crosshair, the table. */
import { expect, test } from 'vitest'
import {
  contentOf,
  type Layer,
  readout,
  type Slots,
  slotAt,
  slotCount,
  slotSpan,
  tableRows,
} from '../../../../src/console/page/parts/chart/chart-data.ts'
import { slotAfterKey } from '../../../../src/console/page/parts/chart/chart-keys.ts'
import { frameOf, momentAt } from '../../../../src/console/page/parts/chart/picture-frame.ts'
import {
  hourMarks,
  linearScale,
  roundTop,
  valueMarks,
} from '../../../../src/console/page/parts/chart/scales.ts'
import { barsPath, spansPath, stepsPath, ticksPath } from '../../../../src/console/page/parts/chart/shapes.ts'

const words = (value: number): string => `${value}`
const x = linearScale(0, 100, 0, 100)
const y = linearScale(0, 10, 50, 0)
const slots: Slots = { fromMs: 0, toMs: 25, stepMs: 10 }

const bars: Layer = {
  kind: 'bars',
  name: 'arrived',
  tone: 'main',
  values: [
    { fromMs: 0, toMs: 10, value: 3 },
    { fromMs: 10, toMs: 20, value: 0 },
  ],
}
const steps: Layer = {
  kind: 'steps',
  name: 'expected',
  tone: 'second',
  values: [{ fromMs: 0, toMs: 20, value: 4 }],
}
const gaps: Layer = {
  kind: 'spans',
  name: 'gap',
  tone: 'bad',
  spans: [
    { fromMs: 12, toMs: 14, label: 'open' },
    { fromMs: 15, toMs: 16, label: 'open' },
    { fromMs: 20, toMs: 20, label: 'filled' },
  ],
}
const polls: Layer = { kind: 'track', name: 'polls', tone: 'main', atMs: [0, 9, 10, 24] }

test('an axis of values ends at a round value that is not below the highest, and is marked at round ones', () => {
  expect([0, 1, 3, 10, 11, 212, 5000].map(roundTop)).toEqual([1, 1, 3, 10, 20, 300, 5000])
  expect(valueMarks(1)).toEqual([0, 1])
  expect(valueMarks(2)).toEqual([0, 1, 2])
  expect(valueMarks(5)).toEqual([0, 1, 2, 3, 4, 5])
  expect(valueMarks(20)).toEqual([0, 5, 10, 15, 20])
  expect(valueMarks(500)).toEqual([0, 100, 200, 300, 400, 500])
})

test('an axis of time is marked at whole hours of London, in summer too, and as closely as there is room', () => {
  const summer = Date.parse('2026-07-01T23:00:00Z')
  const day = 24 * 3_600_000
  expect(hourMarks(summer, summer + day, 900).map(({ label }) => label)).toHaveLength(25)
  const narrow = hourMarks(summer, summer + day, 260)
  expect(narrow.map(({ label }) => label)).toEqual(['00', '06', '12', '18', '00'])
  expect(new Date(narrow[1]?.atMs ?? 0).toISOString()).toBe('2026-07-02T05:00:00.000Z')
  // The day has 25 hours.
  const back = hourMarks(Date.parse('2026-10-24T23:00:00Z'), Date.parse('2026-10-26T00:00:00Z'), 900)
  expect(back.map(({ label }) => label).slice(0, 4)).toEqual(['00', '01', '01', '02'])
})

test('bars of zero are not drawn, and narrow ones stay visible', () => {
  expect(barsPath(bars.kind === 'bars' ? bars.values : [], x, y)).toBe('M0 50V35h9V50z')
  expect(barsPath([{ fromMs: 0, toMs: 0.1, value: 1 }], x, y)).toBe('M0 50V45h1V50z')
})

test('steps go level and straight, and break where there is no value', () => {
  const values = [
    { fromMs: 0, toMs: 10, value: 2 },
    { fromMs: 10, toMs: 20, value: 4 },
    { fromMs: 30, toMs: 40, value: 0 },
  ]
  expect(stepsPath(values, x, y)).toBe('M0 40H10V30H20M30 50H40')
})

test('a span is cut to the drawn stretch, never narrower than two pixels, and left out beyond it', () => {
  const drawn = { fromMs: 0, toMs: 100, top: 0, bottom: 50 }
  expect(spansPath([{ fromMs: -50, toMs: 10 }], x, drawn)).toBe('M0 0H10V50H0z')
  expect(spansPath([{ fromMs: 40, toMs: 40 }], x, drawn)).toBe('M40 0H42V50H40z')
  expect(spansPath([{ fromMs: 150, toMs: 160 }], x, drawn)).toBe('')
})

test('ticks on the same pixel are drawn once', () => {
  expect(ticksPath([10, 10.1, 20], x, 0, 5)).toBe('M10 0V5M20 0V5')
})

test('slots cover the stretch; the last one ends with it, and a moment outside belongs to the nearest', () => {
  expect(slotCount(slots)).toBe(3)
  expect(slotSpan(slots, 2)).toEqual({ fromMs: 20, toMs: 25 })
  expect([-5, 0, 9, 10, 24, 99].map((atMs) => slotAt(slots, atMs))).toEqual([0, 0, 0, 1, 2, 2])
})

test('the crosshair says what each layer has in the slot, and leaves out the layers that have nothing', () => {
  const layers = [bars, steps, gaps, polls]
  expect(readout(layers, { fromMs: 0, toMs: 10 }, words)).toBe('arrived 3 · expected 4 · polls 2')
  expect(readout(layers, { fromMs: 10, toMs: 20 }, words)).toBe('arrived 0 · expected 4 · gap open · polls 1')
  expect(readout([bars], { fromMs: 20, toMs: 25 }, words)).toBe('nothing')
})

test('a span without length belongs to the slot that holds its moment', () => {
  expect(contentOf(gaps, { fromMs: 20, toMs: 25 }, words)).toBe('filled')
  expect(contentOf(gaps, { fromMs: 10, toMs: 20 }, words)).toBe('open')
})

test('the table has a row for each slot that has anything, and no other', () => {
  expect(tableRows([bars, gaps], slots, words)).toEqual([
    { fromMs: 0, cells: ['3', '–'] },
    { fromMs: 10, cells: ['0', 'open'] },
    { fromMs: 20, cells: ['–', 'filled'] },
  ])
  expect(tableRows([bars], slots, words)).toEqual([{ fromMs: 0, cells: ['3'] }])
})

test('a place in the picture is the moment that is drawn there, and its edges are the first and last', () => {
  const frame = frameOf({
    width: 320,
    height: 100,
    slots: { fromMs: 0, toMs: 1000, stepMs: 10 },
    layers: [polls],
  })
  expect(momentAt(frame, frame.x(500))).toBeCloseTo(500)
  expect(momentAt(frame, -20)).toBe(0)
  expect(momentAt(frame, 5000)).toBe(999)
  expect(frame.height).toBeGreaterThan(frame.tracks[0] ?? 0)
})

test('keys move the crosshair as on a slider, begin at either end, and stop there', () => {
  expect(slotAfterKey('ArrowRight', null, 288)).toBe(0)
  expect(slotAfterKey('ArrowLeft', null, 288)).toBe(287)
  expect(slotAfterKey('ArrowRight', 5, 288)).toBe(6)
  expect(slotAfterKey('PageUp', 5, 288)).toBe(17)
  expect(slotAfterKey('End', 5, 288)).toBe(287)
  expect(slotAfterKey('ArrowRight', 287, 288)).toBe(287)
  expect(slotAfterKey('a', 5, 288)).toBeNull()
  expect(slotAfterKey('Home', 5, 0)).toBeNull()
})
