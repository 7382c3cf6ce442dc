import { expect, test } from 'vitest'
import { CodeCounter } from '../../../src/archive/reading/code-counter.ts'
import { createSearchSlices } from '../../../src/archive/reading/search-slices.ts'
import { systemClock } from '../../../src/lifecycle/clock.ts'
import { eventWith, inPlace, memoryArchive } from '../samples.ts'

test('events are counted by code, also after some were removed, and complete spans only once', async () => {
  const events = Array.from({ length: 90 }, (_, at) =>
    eventWith({ fca: [at % 3 === 0 ? 'FR' : 'HY'] }, `guid-${at}`),
  )
  const archive = memoryArchive(inPlace(events))
  const slices = createSearchSlices(systemClock)
  let searches = 0
  const run: typeof slices.run = (search, caller) => {
    searches += 1
    return slices.run(search, caller)
  }
  const counter = new CodeCounter(archive, { ...slices, run }, 20)
  const count = async () => {
    searches = 0
    const asking = { gone: new AbortController().signal, caller: 'one' }
    return [await counter.count('fca', 'FR', archive.latest, asking), searches]
  }
  expect(await count()).toEqual([30, 5])
  // Only the span that is not complete.
  expect(await count()).toEqual([30, 1])
  while (archive.prune(26, 10) > 0);
  // Of 65 events, those of the first span are recounted too.
  expect(await count()).toEqual([21, 2])
  archive.close()
})
