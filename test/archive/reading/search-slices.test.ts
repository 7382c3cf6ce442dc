import { expect, test } from 'vitest'
import { createSearchSlices } from '../../../src/archive/reading/search-slices.ts'
import { yieldToEventLoop } from '../../../src/lifecycle/clock.ts'
import { createManualClock } from '../../support/time/manual-clock.ts'

/** Twenty searches of three steps, each as long as a time slice; counts the steps of each search. */
function twentySearches() {
  const clock = createManualClock()
  const slices = createSearchSlices(clock)
  const steps = new Array<number>(20).fill(0)
  const step = (one: number) => () => {
    steps[one] = (steps[one] ?? 0) + 1
    clock.advance(15)
  }
  for (const one of steps.keys()) {
    void (async () => {
      for (let time = 0; time < 3; time++) await slices.run(step(one))
    })()
  }
  return { clock, steps, sum: () => steps.reduce((sum, count) => sum + count, 0) }
}

test('concurrent searches together block each event-loop tick for at most one time slice', async () => {
  const { steps, sum } = twentySearches()
  for (let tick = 1; tick <= 60; tick++) {
    await yieldToEventLoop()
    expect(sum()).toBeLessThanOrEqual(tick + 2)
  }
  await yieldToEventLoop()
  expect(steps).toEqual(new Array(20).fill(3))
})

test('concurrent searches get time slices in rotation', async () => {
  const { steps } = twentySearches()
  for (let tick = 1; tick <= 25; tick++) await yieldToEventLoop()
  expect(Math.max(...steps) - Math.min(...steps)).toBeLessThanOrEqual(1)
})

test('search steps that take no time run at once, and an error rejects only its own step', async () => {
  const slices = createSearchSlices(createManualClock())
  const failing = slices.run(() => {
    throw new Error('damaged')
  })
  const good = [1, 2, 3].map((value) => slices.run(() => value))
  await expect(failing).rejects.toThrow('damaged')
  expect(await Promise.all(good)).toEqual([1, 2, 3])
})

test('a caller with many searches leaves every second time slice to a caller with one', async () => {
  const clock = createManualClock()
  const slices = createSearchSlices(clock)
  const step = (): void => clock.advance(15)
  for (let count = 0; count < 200; count++) void slices.run(step, 'busy')
  let done = 0
  void (async () => {
    for (let time = 0; time < 5; time++) {
      await slices.run(step, 'other')
      done += 1
    }
  })()
  for (let tick = 1; tick <= 11; tick++) await yieldToEventLoop()
  expect(done).toBe(5)
})

/** Time that a caller with many searches of `stepMs` gets of ten seconds in which another one needs the event loop, ms. */
async function busyTime(stepMs: number): Promise<number> {
  const clock = createManualClock()
  const slices = createSearchSlices(clock)
  let busyMs = 0
  const step = (): void => {
    busyMs += stepMs
    clock.advance(stepMs)
  }
  for (let count = 0; count < 200; count++) void slices.run(step, 'busy')
  const startMs = clock.now()
  while (clock.now() < startMs + 10_000) {
    slices.need('webhooks')
    clock.advance(1)
    await yieldToEventLoop()
  }
  return busyMs
}

test('while another caller needs the event loop, a caller with many searches gets an eighth of the time', async () => {
  const busyMs = await busyTime(15)
  expect(busyMs).toBeGreaterThan(1000)
  expect(busyMs).toBeLessThan(1600)
})

test('it gets no more where the machine is so busy that each of its searches takes longer than a time slice', async () => {
  const busyMs = await busyTime(60)
  expect(busyMs).toBeGreaterThan(1000)
  expect(busyMs).toBeLessThan(1600)
})
