import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ArrivalCounter, type Slots } from '../../../src/archive/reading/arrivals.ts'
import { createSearchSlices } from '../../../src/archive/reading/search-slices.ts'
import type { NewEvent } from '../../../src/core/event.ts'
import { systemClock } from '../../../src/lifecycle/clock.ts'
import { eventWith, gapAt, inPlace, memoryArchive, START_MS } from '../samples.ts'

const MINUTE_MS = 60_000
/** Three hours in slots of five minutes. */
const SLOTS: Slots = { fromMs: START_MS, toMs: START_MS + 180 * MINUTE_MS, slotMs: 5 * MINUTE_MS }
const ASKING = { gone: new AbortController().signal, caller: 'one' }

/** An event of that minute, first held at another one. */
function eventAt(
  index: number,
  minute: number,
  recordedMinute: number,
  kind: 'published' | 'amended',
): NewEvent {
  const event = eventWith({ kind }, `guid-${index}`, START_MS + minute * MINUTE_MS)
  return { ...event, recordedtime: new Date(START_MS + recordedMinute * MINUTE_MS).toISOString() }
}

/** The counts by looking at each minute. */
function naive(minutes: readonly number[]): number[] {
  return Array.from(
    { length: 36 },
    (_, slot) => minutes.filter((minute) => Math.floor(minute / 5) === slot).length,
  )
}

const minutes = fc.integer({ min: -20, max: 200 })
const arrivals = fc.array(fc.record({ minute: minutes, recorded: minutes, amended: fc.boolean() }), {
  maxLength: 60,
})

test('counts are those of each event, whenever and in how many parts they are asked for', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(arrivals, { maxLength: 4 }), async (parts) => {
      const archive = memoryArchive()
      const counter = new ArrivalCounter(archive, createSearchSlices(systemClock), 8)
      const later = { ...SLOTS, fromMs: SLOTS.fromMs + 180 * MINUTE_MS, toMs: SLOTS.toMs + 180 * MINUTE_MS }
      const all = parts.flatMap((part) => {
        const placed = part.map(({ minute, recorded, amended }, index) =>
          eventAt(archive.latest + index, minute, recorded, amended ? 'amended' : 'published'),
        )
        archive.append(inPlace(placed, archive.latest + 1))
        return part
      })
      let held = 0
      for (const part of parts) {
        held += part.length
        const seen = all.slice(0, held)
        expect(await counter.count(SLOTS, held, ASKING)).toEqual({
          through: held,
          byTime: naive(seen.map(({ minute }) => minute)),
          byRecordedTime: naive(seen.map(({ recorded }) => recorded)),
        })
        expect(await counter.count(later, held, ASKING)).toEqual({
          through: held,
          byTime: naive(seen.map(({ minute }) => minute - 180)),
          byRecordedTime: naive(seen.map(({ recorded }) => recorded - 180)),
        })
      }
      archive.close()
    }),
    { numRuns: 40 },
  )
})

test('gap events are no arrivals, and what was counted is not read again', async () => {
  const archive = memoryArchive(inPlace([gapAt('g', START_MS), eventAt(1, 7, 8, 'published')]))
  const counter = new ArrivalCounter(archive, createSearchSlices(systemClock))
  const first = await counter.count(SLOTS, 2, ASKING)
  expect(first.byTime.slice(0, 3)).toEqual([0, 1, 0])
  archive.db.exec('DELETE FROM facts')
  expect(await counter.count(SLOTS, 2, ASKING)).toEqual(first)
  archive.close()
})

test('a replica that is rebuilt is counted from its first event again', async () => {
  const archive = memoryArchive(inPlace([eventAt(1, 7, 8, 'published')]))
  const counter = new ArrivalCounter(archive, createSearchSlices(systemClock))
  await counter.count(SLOTS, 1, ASKING)
  archive.clear()
  archive.append(inPlace([eventAt(2, 20, 20, 'published')]))
  expect((await counter.count(SLOTS, 1, ASKING)).byTime).toEqual(naive([20]))
  archive.append(inPlace([eventAt(3, 20, 20, 'published')], 2))
  const counting = counter.count(SLOTS, 2, ASKING)
  archive.clear()
  await expect(counting).rejects.toMatchObject({ code: 'log_unavailable' })
  archive.close()
})

test('a first count of another span looks only into windows that may have some of it', async () => {
  const inDay = (day: number) =>
    Array.from({ length: 40 }, (_, at) =>
      eventAt(day * 40 + at, day * 1440 + at, day * 1440 + at, 'published'),
    )
  const archive = memoryArchive(inPlace([...inDay(0), ...inDay(1), ...inDay(2)]))
  const slices = createSearchSlices(systemClock)
  let looks = 0
  const run: typeof slices.run = (search, caller) => {
    looks += 1
    return slices.run(search, caller)
  }
  const counter = new ArrivalCounter(archive, { ...slices, run }, 4)
  const dayOf = (day: number): Slots => {
    const fromMs = SLOTS.fromMs + day * 1440 * MINUTE_MS
    return { ...SLOTS, fromMs, toMs: fromMs + 180 * MINUTE_MS }
  }
  await counter.count(dayOf(0), 120, ASKING)
  expect(looks).toBe(30)
  looks = 0
  const { byTime } = await counter.count(dayOf(1), 120, ASKING)
  expect(byTime.reduce((sum, count) => sum + count, 0)).toBe(40)
  // Ten windows of the day, and one more look that passes over all others.
  expect(looks).toBe(11)
  archive.close()
})
