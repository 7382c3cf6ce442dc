import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Turns } from '../../src/feed/turns.ts'
import { type Due, Wheel } from '../../src/feed/wheel.ts'
import { createManualClock } from '../support/manual-clock.ts'

const TURN_MS = 250

function entry(onDue: () => void): Due {
  return { slot: -1, onDue }
}

describe('the wheel', () => {
  test('calls each entry once, at its time or at most a turn later, whatever else is set and cleared', () => {
    const delays = fc.array(fc.integer({ min: 1, max: 60_000 }), { minLength: 1, maxLength: 30 })
    fc.assert(
      fc.property(delays, fc.nat(60_000), (delaysMs, startMs) => {
        const clock = createManualClock()
        const wheel = new Wheel(clock, new Turns())
        const other = entry(() => {})
        wheel.set(other, 60_000)
        clock.advance(startMs % 59_000)
        const setMs = clock.now()
        const calledMs = delaysMs.map((): number[] => [])
        for (const [place, delayMs] of delaysMs.entries()) {
          wheel.set(
            entry(() => calledMs[place]?.push(clock.now() - setMs)),
            delayMs,
          )
        }
        wheel.clear(other)
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
    const wheel = new Wheel(clock, new Turns())
    let calls = 0
    const again = entry(() => {
      calls += 1
      wheel.set(again, 1000)
    })
    const cleared = entry(() => expect.unreachable())
    wheel.set(again, 1000)
    wheel.set(cleared, 1000)
    wheel.clear(cleared)
    clock.advance(10_000)
    expect(calls).toBe(10)
    wheel.clear(again)
    wheel.clear(again)
    expect(clock.nextTimerMs()).toBeNull()
  })
})
