import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Clock } from '../../../src/lifecycle/clock.ts'
import { TickBudget } from '../../../src/streams/limits/tick-budget.ts'
import { type TimerEntry, TimerWheel } from '../../../src/streams/limits/timer-wheel.ts'
import { createManualClock } from '../../support/time/manual-clock.ts'

const TURN_MS = 250

function entry(onTimer: () => void): TimerEntry {
  return { slot: -1, onTimer }
}

/** A clock at the time of `clock` whose timers fire late, by the value of `lateMs` when they are set. */
function behind(clock: Clock, lateMs: () => number): Clock {
  return {
    now: () => clock.now(),
    after: (delayMs, callback) => clock.after(delayMs + lateMs(), callback),
  }
}

describe('the timer wheel', () => {
  test('calls each entry once, at its time or at most a slot later, whatever else is set and cleared', () => {
    const delays = fc.array(fc.integer({ min: 1, max: 60_000 }), { minLength: 1, maxLength: 30 })
    fc.assert(
      fc.property(delays, fc.nat(60_000), (delaysMs, startMs) => {
        const clock = createManualClock()
        const timerWheel = new TimerWheel(clock, new TickBudget())
        const other = entry(() => {})
        timerWheel.set(other, 60_000)
        clock.advance(startMs % 59_000)
        const setMs = clock.now()
        const calledMs = delaysMs.map((): number[] => [])
        for (const [place, delayMs] of delaysMs.entries()) {
          timerWheel.set(
            entry(() => calledMs[place]?.push(clock.now() - setMs)),
            delayMs,
          )
        }
        timerWheel.clear(other)
        clock.advance(70_000)
        for (const [place, delayMs] of delaysMs.entries()) {
          const [lateMs = Number.NaN, ...again] = calledMs[place]?.map((ms) => ms - delayMs) ?? []
          expect(again).toEqual([])
          expect(Math.abs(lateMs)).toBeLessThanOrEqual(TURN_MS)
        }
        expect(clock.nextTimerMs()).toBeNull()
      }),
      { numRuns: 50 },
    )
  })

  test('sets an entry anew from its own call, and never calls one that was cleared', () => {
    const clock = createManualClock()
    const timerWheel = new TimerWheel(clock, new TickBudget())
    let calls = 0
    const again = entry(() => {
      calls += 1
      timerWheel.set(again, 1000)
    })
    const cleared = entry(() => expect.unreachable())
    timerWheel.set(again, 1000)
    timerWheel.set(cleared, 1000)
    timerWheel.clear(cleared)
    clock.advance(10_000)
    expect(calls).toBe(10)
    timerWheel.clear(again)
    timerWheel.clear(again)
    expect(clock.nextTimerMs()).toBeNull()
  })

  test('never adds up the delays of its timer: an entry is late by one slot and the current delay of the timer', () => {
    const delays = fc.array(fc.integer({ min: 1, max: 60_000 }), { minLength: 1, maxLength: 16 })
    fc.assert(
      fc.property(delays, fc.infiniteStream(fc.nat(400)), (delaysMs, lateness) => {
        const clock = createManualClock()
        const timerWheel = new TimerWheel(
          behind(clock, () => lateness.next().value),
          new TickBudget(),
        )
        const setMs = clock.now()
        const calledMs = delaysMs.map((): number[] => [])
        for (const [place, delayMs] of delaysMs.entries()) {
          timerWheel.set(
            entry(() => calledMs[place]?.push(clock.now() - setMs - delayMs)),
            delayMs,
          )
        }
        clock.advance(70_000)
        for (const late of calledMs) {
          expect(late).toHaveLength(1)
          expect(late[0]).toBeGreaterThanOrEqual(0)
          expect(late[0]).toBeLessThanOrEqual(TURN_MS + 400)
        }
      }),
      { numRuns: 50 },
    )
  })

  test.each([20_000, 600_000])(
    'after a standstill of %d ms calls what is due, each once and in order, and nothing else before its time',
    (stillMs) => {
      const clock = createManualClock()
      let lateMs = stillMs
      const timerWheel = new TimerWheel(
        behind(clock, () => lateMs),
        new TickBudget(),
      )
      const startMs = clock.now()
      const called: [name: string, atMs: number][] = []
      const named = (name: string) => entry(() => called.push([name, clock.now() - startMs]))
      for (const second of [15, 2, 10, 1]) timerWheel.set(named(`${second} s`), second * 1000)
      lateMs = 0
      clock.advance(stillMs - 1000)
      expect(called).toEqual([])
      // Set by other work before the late timer fires.
      timerWheel.set(named('soon'), 500)
      timerWheel.set(named('later'), 60_000)
      const again = entry(() => called.push(['15 s again', clock.now() - startMs]))
      timerWheel.set(again, 15_000)
      clock.advance(1250)
      const atMs = stillMs + TURN_MS
      expect(called).toEqual(['1 s', '2 s', '10 s', '15 s', 'soon'].map((name) => [name, atMs]))
      clock.advance(60_000)
      expect(called.slice(5)).toEqual([
        ['15 s again', stillMs + 14_000],
        ['later', stillMs + 59_000],
      ])
      expect(clock.nextTimerMs()).toBeNull()
    },
  )

  test('continues when the clock is set back, and loses at most one slot', () => {
    const clock = createManualClock()
    const timerWheel = new TimerWheel(clock, new TickBudget())
    let calls = 0
    timerWheel.set(
      entry(() => (calls += 1)),
      10_000,
    )
    clock.advance(5100)
    clock.set(clock.now() - 3_600_000)
    clock.advance(4800)
    expect(calls).toBe(0)
    clock.advance(100 + 2 * TURN_MS)
    expect(calls).toBe(1)
  })
})
