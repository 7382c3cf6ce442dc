/** Tests that work with a time limit leaves no timer behind. */
import { expect, it } from 'vitest'
import { within } from '../../src/lifecycle/clock.ts'
import { createManualClock } from '../support/time/manual-clock.ts'

const { signal } = new AbortController()

it('ends with the work or with what it throws, and then leaves no timer', async () => {
  const clock = createManualClock()
  await within(clock, 1000, signal, () => Promise.resolve())
  expect(clock.nextTimerMs()).toBe(null)
  const error = new Error('the log is gone')
  await expect(within(clock, 1000, signal, () => Promise.reject(error))).rejects.toBe(error)
  expect(clock.nextTimerMs()).toBe(null)
})
