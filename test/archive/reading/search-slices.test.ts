import { expect, test } from 'vitest'
import { createSearchSlices } from '../../../src/archive/reading/search-slices.ts'
import { yieldToEventLoop } from '../../../src/lifecycle/clock.ts'
import { createManualClock } from '../../support/time/manual-clock.ts'

/** Twenty who look again and again, each as long as a window may take; how often each has looked. */
function twentyLook() {
  const clock = createManualClock()
  const slices = createSearchSlices(clock)
  const looks = new Array<number>(20).fill(0)
  const look = (one: number) => () => {
    looks[one] = (looks[one] ?? 0) + 1
    clock.advance(15)
  }
  for (const one of looks.keys()) {
    void (async () => {
      for (let time = 0; time < 3; time++) await slices.run(look(one))
    })()
  }
  return { clock, looks, sum: () => looks.reduce((sum, count) => sum + count, 0) }
}

test('searches block a tick of the event loop for one window, however many there are', async () => {
  const { looks, sum } = twentyLook()
  for (let turn = 1; turn <= 60; turn++) {
    await yieldToEventLoop()
    expect(sum()).toBeLessThanOrEqual(turn + 2)
  }
  await yieldToEventLoop()
  expect(looks).toEqual(new Array(20).fill(3))
})

test('searches take turns', async () => {
  const { looks } = twentyLook()
  for (let turn = 1; turn <= 25; turn++) await yieldToEventLoop()
  expect(Math.max(...looks) - Math.min(...looks)).toBeLessThanOrEqual(1)
})

test('looks that take no time are done at once, and a fault is the fault of its own look', async () => {
  const slices = createSearchSlices(createManualClock())
  const failing = slices.run(() => {
    throw new Error('damaged')
  })
  const good = [1, 2, 3].map((value) => slices.run(() => value))
  await expect(failing).rejects.toThrow('damaged')
  expect(await Promise.all(good)).toEqual([1, 2, 3])
})
