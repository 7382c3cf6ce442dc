import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  journeyScans,
  journeyText,
  type KeptJourney,
  keptHolds,
  readHolds,
  readJourney,
  traceOfJourney,
  withAhead,
} from '../../src/archive/journeys.ts'

const length = fc.nat({ max: 40 * 86_400_000 })
const digits = (count: number) =>
  fc
    .string({ unit: fc.constantFrom(...'0123456789abcdef'), minLength: count, maxLength: count })
    .filter((text) => /[^0]/.test(text))
const someJourney: fc.Arbitrary<KeptJourney> = fc.record(
  {
    requestMs: length,
    sincePollMs: length,
    plannedMs: length,
    scan: fc.constantFrom(...journeyScans),
    scanMs: length,
    ...{ pausedMs: length, resumedMs: length, outageMs: length, writableMs: length },
    trace: fc.record({ traceId: digits(32), spanId: digits(16) }),
  },
  { requiredKeys: [] },
)

test('what is kept of a journey reads back as it was', () => {
  fc.assert(
    fc.property(someJourney, (journey) => {
      expect(readJourney(journeyText(journey))).toEqual(journey)
    }),
  )
})

test('what a later build has added, and what is no length, is left out', () => {
  const text = 'trace=00-4bf9-01 sent=412 poll=-3 plan=soon scan=telepathy begun'
  expect(readJourney(text)).toEqual({ requestMs: 412 })
  expect(readJourney('')).toEqual({})
})

test('holds read back as they were, without those that were over or began later', () => {
  const holds = { pause: { fromMs: 100, toMs: 190 }, outage: { fromMs: 50, toMs: 80 } }
  const text = journeyText({ requestMs: 7, ...keptHolds(holds, 0, 200) })
  expect(text).toBe('sent=7 paused=100 resumed=10 outage=150 writable=120')
  expect(readHolds(readJourney(text), 200)).toEqual(holds)
  expect(readHolds({}, 200)).toEqual({ pause: null, outage: null })
  expect(keptHolds(holds, 80, 100)).toEqual({})
})

test('a clock that was set back makes no negative length', () => {
  expect(journeyText({ requestMs: -5, sincePollMs: 1.6 })).toBe('sent=0 poll=2')
})

test('a usual journey has less than forty bytes', () => {
  const slow = { requestMs: 30_000, sincePollMs: 300_000, plannedMs: 300_000 }
  expect(journeyText(slow).length).toBeLessThan(40)
  expect(journeyText({ requestMs: 30_000, scan: 'fill', scanMs: 2000 }).length).toBeLessThan(40)
})

test('the trace is found wherever it stands in the text, and only a valid one', () => {
  const trace = { traceId: '4bf92f3577b34da6a3ce929d0e0e4736', spanId: '00f067aa0ba902b7' }
  const text = withAhead(journeyText({ requestMs: 1, trace }), 5000)
  expect(text).toBe('sent=1 trace=4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7 ahead=5000')
  expect(traceOfJourney(text)).toEqual(trace)
  for (const none of [undefined, '', 'sent=1', 'sent=1 trace=00-4bf9-01', `x${text.slice(7)}`])
    expect(traceOfJourney(none)).toBeNull()
})
