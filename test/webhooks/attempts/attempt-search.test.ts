/** Tests that searches for the attempts of one event give way to each other, and to all other searches. */
import { expect, test } from 'vitest'
import { createSearchSlices, type SearchSlices } from '../../../src/archive/reading/search-slices.ts'
import { attemptOutcomes } from '../../../src/core/attempt-end.ts'
import { yieldToEventLoop } from '../../../src/lifecycle/clock.ts'
import { until } from '../../support/http/api-server.ts'
import { historyWorld } from './history-world.ts'

const SEARCHES = 20
const never = new AbortController().signal

/** A history of one attempt, whose searches take a whole time slice a step; the callers of the steps, in their order. */
async function slowHistory() {
  const world = await historyWorld()
  const slices = createSearchSlices(world.clock)
  const callers: (string | undefined)[] = []
  const searchSlices: SearchSlices = {
    ...slices,
    run(search, caller) {
      const slowly = () => {
        callers.push(caller)
        world.clock.advance(15)
        return search()
      }
      return slices.run(slowly, caller)
    },
  }
  const { history, sequences, close } = world.open(world.path, { searchSlices })
  await world.tell(1)
  await until(() => sequences().length === 1)
  const [attempt] = history.attempts(world.id, { outcomes: attemptOutcomes, before: null, limit: 1 })
  const wanted = { outcomes: attemptOutcomes, before: null, limit: 9, eventId: attempt?.eventId ?? '' }
  const search = (caller: string, gone = never) => history.attemptsOfEvent(world.id, wanted, { gone, caller })
  return { search, callers, close }
}

test('concurrent searches by event together hold up each event-loop tick for one step', async () => {
  const { search, callers, close } = await slowHistory()
  let found = 0
  for (let one = 0; one < SEARCHES; one++) {
    void search('busy').then((attempts) => {
      found += attempts.length
    })
  }
  let ticks = 0
  while (found < SEARCHES) {
    expect(callers.length).toBeLessThanOrEqual(ticks + 2)
    await yieldToEventLoop()
    ticks += 1
  }
  expect(ticks).toBeGreaterThanOrEqual(2 * SEARCHES)
  await close()
})

test('a caller with many searches by event leaves every second step to a caller with one', async () => {
  const { search, callers, close } = await slowHistory()
  const others = Array.from({ length: SEARCHES }, () => search('busy'))
  expect(await search('other')).toHaveLength(1)
  const steps = callers.filter((caller) => caller === 'other').length
  expect(steps).toBeGreaterThan(1)
  expect(callers.length).toBeLessThanOrEqual(2 * steps + 2)
  await Promise.all(others)
  await close()
})

test('a search by event whose caller has gone takes no further step', async () => {
  const { search, callers, close } = await slowHistory()
  const gone = new AbortController()
  const searching = search('gone', gone.signal)
  gone.abort()
  expect(await searching).toEqual([])
  expect(callers).toEqual(['gone'])
  await close()
})
