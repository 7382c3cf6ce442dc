/** Tests that the searches of many requests hold a bounded number of candidates, and still find what they should. */
import { expect, it } from 'vitest'
import { readWindowBack } from '../../../src/archive/reading/query.ts'
import { KeptBatches } from '../../../src/archive/reading/scan-cursor.ts'
import { SearchCache } from '../../../src/archive/reading/search-cache.ts'
import { createManualClock } from '../../support/time/manual-clock.ts'
import { eventWith, inPlace, memoryArchive } from '../samples.ts'

const EVENTS = 30
/** A window ends by its events here, not by the time that a busy machine takes for it. */
const clock = createManualClock()

it('searches of single requests keep no more candidates than the bound, and one whose candidates were dropped goes on', () => {
  const events = Array.from({ length: EVENTS }, (_, at) => eventWith({ headline: 'Final results' }, `g${at}`))
  const archive = memoryArchive(inPlace(events))
  const kept = new KeptBatches(2 * EVENTS)
  const cache = new SearchCache(kept)
  const filters = Array.from({ length: 8 }, () => ({ q: 'results' }))
  const read = (at: number) => {
    const range = { from: EVENTS, floor: 0, limit: 3, maxBytes: 1_000_000 }
    const search = cache.for(filters[at] ?? null)
    return readWindowBack(archive, clock, search, range).events.map(({ sequence }) => sequence)
  }
  const held = () => filters.map((filter) => cache.for(filter).scanCursor?.batch?.sequences.length ?? 0)
  for (const at of filters.keys()) expect(read(at)).toEqual([30, 29, 28])
  expect(held()).toEqual([0, 0, 0, 0, 0, 0, EVENTS, EVENTS])
  expect(read(0)).toEqual([30, 29, 28])
  expect(held()).toEqual([EVENTS, 0, 0, 0, 0, 0, 0, EVENTS])
  expect(kept.candidates).toBe(2 * EVENTS)
  archive.close()
})

it('the candidates of a search that made room for others are no longer held', () => {
  const archive = memoryArchive(inPlace([eventWith({ headline: 'Final results' }, 'g1')]))
  const kept = new KeptBatches()
  const cache = new SearchCache(kept)
  for (let request = 0; request < 1_200; request++) {
    const range = { from: 1, floor: 0, limit: 3, maxBytes: 1_000_000 }
    readWindowBack(archive, clock, cache.for({ q: 'results' }), range)
  }
  expect(kept.candidates).toBe(1_000)
  archive.close()
})

it('a search that is evicted between two windows of a read is held no more, nor is one without candidates', () => {
  const events = Array.from({ length: EVENTS }, (_, at) => eventWith({ headline: 'Final results' }, `g${at}`))
  const archive = memoryArchive(inPlace(events))
  const kept = new KeptBatches()
  const cache = new SearchCache(kept)
  const range = { from: EVENTS, floor: 0, limit: 3, maxBytes: 1_000_000 }
  const search = cache.for({ q: 'results' })
  const first = readWindowBack(archive, clock, search, range)
  expect([kept.scans, kept.candidates]).toEqual([1, EVENTS])
  for (let other = 0; other < 1_000; other++) {
    readWindowBack(archive, clock, cache.for({ q: 'nowhere' }), range)
  }
  const second = readWindowBack(archive, clock, search, { ...range, from: first.position })
  expect(second.events.map(({ sequence }) => sequence)).toEqual([27, 26, 25])
  expect([kept.scans, kept.candidates]).toEqual([0, 0])
  archive.close()
})
