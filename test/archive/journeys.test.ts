import fc from 'fast-check'
import { expect, test } from 'vitest'
import { journeyScans, journeyText, type KeptJourney, readJourney } from '../../src/archive/journeys.ts'

const length = fc.nat({ max: 40 * 86_400_000 })
const someJourney: fc.Arbitrary<KeptJourney> = fc.record(
  {
    requestMs: length,
    sincePollMs: length,
    plannedMs: length,
    scan: fc.constantFrom(...journeyScans),
    scanMs: length,
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

test('a clock that was set back makes no negative length', () => {
  expect(journeyText({ requestMs: -5, sincePollMs: 1.6 })).toBe('sent=0 poll=2')
})

test('a usual journey has less than forty bytes', () => {
  const slow = { requestMs: 30_000, sincePollMs: 300_000, plannedMs: 300_000 }
  expect(journeyText(slow).length).toBeLessThan(40)
  expect(journeyText({ requestMs: 30_000, scan: 'fill', scanMs: 2000 }).length).toBeLessThan(40)
})
