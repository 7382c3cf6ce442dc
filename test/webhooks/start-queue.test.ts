import { expect, test } from 'vitest'
import { yieldTurn } from '../../src/lifecycle/clock.ts'
import { createStartQueue, type Starter, TURN } from '../../src/webhooks/start-queue.ts'

/** One that has so many to begin, and writes its name down for each. */
function starter(name: string, count: number, begun: string[]): Starter {
  let left = count
  return {
    startNext() {
      if (left === 0) return false
      left -= 1
      begun.push(name)
      return true
    },
  }
}

async function until(isThere: () => boolean): Promise<void> {
  while (!isThere()) await yieldTurn()
}

test('who comes while nobody waits begins at once; each has its turn before any has its second', async () => {
  const begun: string[] = []
  const queue = createStartQueue()
  queue.add({ startNext: () => begun.push('alone') > 1 })
  expect(begun).toEqual(['alone'])
  const holder = starter('holder', 100, begun)
  queue.add(holder)
  begun.length = 0
  for (const name of ['a', 'b', 'c']) queue.add(starter(name, TURN + 1, begun))
  await until(() => begun.filter((name) => name !== 'holder').length === 3 * (TURN + 1))
  const turns = begun.filter((name, place) => name !== 'holder' && name !== begun[place - 1])
  expect(turns).toEqual(['a', 'b', 'c', 'a', 'b', 'c'])
})

test('the event loop has its turns while many begin', async () => {
  const begun: string[] = []
  const queue = createStartQueue()
  queue.add(starter('one', 1000, begun))
  expect(begun.length).toBeLessThan(100)
  let turns = 0
  for (; begun.length < 1000; turns++) await yieldTurn()
  expect(turns).toBeGreaterThan(10)
})

test('who waits already keeps its place, however often it comes', async () => {
  const begun: string[] = []
  const queue = createStartQueue()
  queue.add(starter('before', 100, begun))
  begun.length = 0
  const [eager, patient] = [starter('eager', TURN + 1, begun), starter('patient', TURN + 1, begun)]
  for (let time = 0; time < 5; time++) for (const one of [eager, patient]) queue.add(one)
  await until(() => begun.filter((name) => name === 'patient').length === TURN + 1)
  const turns = begun.filter((name, place) => name !== 'before' && name !== begun[place - 1])
  expect(turns).toEqual(['eager', 'patient', 'eager', 'patient'])
})
