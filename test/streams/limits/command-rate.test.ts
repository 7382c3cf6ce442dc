import fc from 'fast-check'
import { expect, test } from 'vitest'
import { CommandRate, MAX_COMMANDS_A_SECOND } from '../../../src/streams/limits/command-rate.ts'

test('the limiter refuses exactly when twenty commands came within the second before', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 300 }), { maxLength: 60 }), (pauses) => {
      const rate = new CommandRate()
      const moments: number[] = []
      let nowMs = 1_000_000
      for (const pause of pauses) {
        nowMs += pause
        const recent = moments.filter((moment) => nowMs - moment < 1000).length
        expect(rate.take(nowMs)).toBe(recent < MAX_COMMANDS_A_SECOND)
        moments.push(nowMs)
      }
    }),
  )
})

test('the limiter does not penalise a client for a clock that was set back', () => {
  const rate = new CommandRate()
  for (let sent = 0; sent < 10; sent += 1) expect(rate.take(5000)).toBe(true)
  expect(rate.take(1000)).toBe(true)
})
