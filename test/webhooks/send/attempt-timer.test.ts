/** Tests the time limits of one webhook delivery attempt. */
import { describe, expect, test } from 'vitest'
import { AttemptTimer } from '../../../src/webhooks/send/attempt-timer.ts'
import { createManualClock } from '../../support/time/manual-clock.ts'

function started() {
  const clock = createManualClock()
  const timer = new AttemptTimer(clock, new AbortController().signal, 15_000)
  /** How long the attempt lasted from now on, ms. */
  const endsAfter = (): number => {
    let ms = 0
    for (; !timer.signal.aborted && ms < 60_000; ms += 500) clock.advance(500)
    return ms
  }
  return { clock, timer, endsAfter }
}

describe('an attempt ends', () => {
  test('at the limit of its phase', () => {
    const { timer, endsAfter } = started()
    timer.enter('dns', 5000)
    expect(endsAfter()).toBe(5000)
    expect(timer.isLate).toBe(true)
  })

  test('at the limit of a later, longer phase, which begins when that phase does', () => {
    const { clock, timer, endsAfter } = started()
    timer.enter('dns', 5000)
    clock.advance(3000)
    timer.enter('connect', 5000)
    expect(endsAfter()).toBe(5000)
  })

  test('at the limit of a later, shorter phase', () => {
    const { clock, timer, endsAfter } = started()
    timer.enter('head', 15_000)
    clock.advance(3000)
    timer.enter('body', 2000)
    expect(endsAfter()).toBe(2000)
  })

  test('when all phases together are over', () => {
    const { clock, timer, endsAfter } = started()
    timer.enter('dns', 5000)
    clock.advance(4000)
    timer.enter('connect', 5000)
    clock.advance(4000)
    timer.enter('head', 15_000)
    expect(endsAfter()).toBe(7000)
  })

  test('within the limit of all phases together, however the clock is set meanwhile', () => {
    for (const byMs of [-3_600_000, 4000]) {
      const { clock, timer, endsAfter } = started()
      timer.enter('dns', 5000)
      clock.advance(1000)
      timer.enter('connect', 5000)
      clock.set(clock.now() + byMs)
      expect(endsAfter()).toBe(5000)
      const again = started()
      again.timer.enter('dns', 5000)
      again.clock.set(again.clock.now() + byMs)
      again.timer.enter('connect', 5000)
      expect(again.endsAfter()).toBeLessThanOrEqual(15_000)
    }
  })

  test('never once it has ended', () => {
    const { timer, endsAfter } = started()
    timer.enter('dns', 5000)
    timer.enter('connect', 5000)
    timer.end()
    endsAfter()
    expect(timer.signal.aborted).toBe(false)
  })
})
