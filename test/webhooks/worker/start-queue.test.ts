import { expect, test } from 'vitest'
import { yieldToEventLoop } from '../../../src/lifecycle/clock.ts'
import { createPlaces } from '../../../src/lifecycle/places.ts'
import { attemptPlaces } from '../../../src/webhooks/worker/attempt-places.ts'
import {
  MAX_RECENTLY_STARTED,
  RECENT_MS,
  STARTS_PER_TURN,
  type Starter,
  StartQueue,
} from '../../../src/webhooks/worker/start-queue.ts'
import { createManualClock } from '../../support/time/manual-clock.ts'

/** An endpoint with that many deliveries to start. It records its name for each, and ends each as scripted; at once by default. */
function starter(
  name: string,
  count: number,
  begun: string[],
  end: () => Promise<unknown> = () => Promise.resolve(),
): Starter {
  let left = count
  return {
    tenant: 'desk',
    isIdle: () => false,
    startNext() {
      if (left === 0) return null
      left -= 1
      begun.push(name)
      return end()
    },
  }
}

/** The names of the started endpoints, in order, without the one that keeps the queue busy. */
function turnsIn(begun: readonly string[], busy: string): string[] {
  return begun.filter((name, place) => name !== busy && name !== begun[place - 1])
}

async function until(isThere: () => boolean): Promise<void> {
  while (!isThere()) await yieldToEventLoop()
}

async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await yieldToEventLoop()
}

test('an endpoint starts at once if none waits; each starts once before any starts twice', async () => {
  const begun: string[] = []
  const queue = new StartQueue(createManualClock(), attemptPlaces(8192))
  queue.add(starter('alone', 1, begun))
  expect(begun).toEqual(['alone'])
  const holder = starter('holder', 100, begun)
  queue.add(holder)
  begun.length = 0
  for (const name of ['a', 'b', 'c']) queue.add(starter(name, STARTS_PER_TURN + 1, begun))
  await until(() => begun.filter((name) => name !== 'holder').length === 3 * (STARTS_PER_TURN + 1))
  expect(turnsIn(begun, 'holder')).toEqual(['a', 'b', 'c', 'a', 'b', 'c'])
})

test('starting many endpoints leaves ticks of the event loop to other work', async () => {
  const begun: string[] = []
  const queue = new StartQueue(createManualClock(), attemptPlaces(8192))
  queue.add(starter('one', 1000, begun))
  expect(begun.length).toBeLessThan(100)
  let passed = 0
  for (; begun.length < 1000; passed++) await yieldToEventLoop()
  expect(passed).toBeGreaterThan(10)
})

test('an endpoint in the queue keeps its position, however often it is added', async () => {
  const begun: string[] = []
  const queue = new StartQueue(createManualClock(), attemptPlaces(8192))
  queue.add(starter('before', 100, begun))
  begun.length = 0
  const [eager, patient] = [
    starter('eager', STARTS_PER_TURN + 1, begun),
    starter('patient', STARTS_PER_TURN + 1, begun),
  ]
  for (let time = 0; time < 5; time++) for (const one of [eager, patient]) queue.add(one)
  await until(() => begun.filter((name) => name === 'patient').length === STARTS_PER_TURN + 1)
  expect(turnsIn(begun, 'before')).toEqual(['eager', 'patient', 'eager', 'patient'])
})

test('a limited number starts at a time, and a slow response does not block the others', async () => {
  const begun: string[] = []
  const clock = createManualClock()
  const queue = new StartQueue(clock, attemptPlaces(8192))
  const answers: (() => void)[] = []
  const hanging = (): Promise<void> => new Promise((resolve) => void answers.push(resolve))
  queue.add(starter('one', 1000, begun, hanging))
  await turns(50)
  expect(begun.length).toBeLessThan(MAX_RECENTLY_STARTED + STARTS_PER_TURN)
  const before = begun.length
  for (const answer of answers.slice(0, 20)) answer()
  await turns(10)
  expect(begun.length).toBe(before + 20)
  clock.advance(RECENT_MS)
  await turns(50)
  expect(begun.length).toBeGreaterThan(before + MAX_RECENTLY_STARTED)
  for (let round = 0; round < 10; round++) {
    clock.advance(RECENT_MS)
    await turns(50)
  }
  expect(begun).toHaveLength(1000)
})

test('an idle endpoint starts one delivery before busier ones start more', async () => {
  const begun: string[] = []
  const queue = new StartQueue(createManualClock(), attemptPlaces(8192))
  queue.add(starter('before', 100, begun))
  begun.length = 0
  for (const name of ['a', 'b']) {
    const one = starter(name, STARTS_PER_TURN, begun)
    queue.add({ ...one, isIdle: () => !begun.includes(name) })
  }
  await until(() => begun.filter((name) => name !== 'before').length === 2 * STARTS_PER_TURN)
  const own = begun.filter((name) => name !== 'before')
  expect(own).toEqual([
    'a',
    'b',
    ...Array(STARTS_PER_TURN - 1).fill('a'),
    ...Array(STARTS_PER_TURN - 1).fill('b'),
  ])
})

test('an idle endpoint goes before endpoints that have already started, however late it is added', async () => {
  const begun: string[] = []
  const queue = new StartQueue(createManualClock(), attemptPlaces(8192))
  const late = starter('late', STARTS_PER_TURN, begun)
  for (const name of ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j']) queue.add(starter(name, 100, begun))
  begun.length = 0
  queue.add({ ...late, isIdle: () => !begun.includes('late') })
  await until(() => begun.filter((name) => name === 'late').length === STARTS_PER_TURN)
  expect(begun[0]).toBe('late')
  const others = begun.slice(1, begun.indexOf('late', 1))
  expect(new Set(others).size).toBe(10)
})

test('a tenant whose deliveries hang leaves places to others, and its endpoints get free ones in turn', async () => {
  const begun: string[] = []
  const ends: (() => void)[] = []
  const hang = (): Promise<unknown> => {
    const { promise, resolve } = Promise.withResolvers<void>()
    ends.push(resolve)
    return promise
  }
  const queue = new StartQueue(createManualClock(), createPlaces(6, 4))
  for (const name of ['a', 'b']) queue.add({ ...starter(name, 10, begun, hang), tenant: 'hangs' })
  queue.add(starter('good', 3, begun))
  await until(() => begun.filter((name) => name === 'good').length === 3)
  await turns(5)
  expect(begun.filter((name) => name !== 'good')).toHaveLength(4)
  for (let count = 0; count < 16; count++) {
    ends.shift()?.()
    await turns(5)
  }
  expect([begun.filter((name) => name === 'a').length, begun.filter((name) => name === 'b').length]).toEqual([
    10, 10,
  ])
})

test('an endpoint without anything to start passes its place on', async () => {
  const begun: string[] = []
  const { promise, resolve } = Promise.withResolvers<void>()
  const queue = new StartQueue(createManualClock(), createPlaces(1, 1))
  queue.add({ ...starter('first', 1, begun, () => promise), tenant: 'other' })
  queue.add({ ...starter('nothing', 0, begun), tenant: 'a' })
  for (const name of ['b', 'c']) queue.add({ ...starter(name, 1, begun), tenant: name })
  await turns(5)
  expect(begun).toEqual(['first'])
  resolve()
  await until(() => begun.length === 3)
})
