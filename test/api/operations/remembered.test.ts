import { expect, test } from 'vitest'
import { Remembered } from '../../../src/api/operations/remembered.ts'
import { createManualClock } from '../../support/time/manual-clock.ts'

test('a result is shared and remembered for its time, a failure is not', async () => {
  const clock = createManualClock()
  const remembered = new Remembered<number>(clock, 1000)
  let made = 0
  const work = async (): Promise<number> => {
    made += 1
    if (made === 3) throw new Error('the third')
    return made
  }
  expect(await Promise.all([remembered.get('a', work), remembered.get('a', work)])).toEqual([1, 1])
  clock.advance(999)
  expect(await remembered.get('a', work)).toBe(1)
  clock.advance(1)
  expect(await remembered.get('a', work)).toBe(2)
  await expect(remembered.get('b', work)).rejects.toThrow('the third')
  expect(await remembered.get('b', work)).toBe(4)
})

test('a few results are remembered at a time, and a clock that was set back ends them too', async () => {
  const clock = createManualClock()
  const remembered = new Remembered<number>(clock, 1000)
  let made = 0
  const work = async (): Promise<number> => ++made
  for (let key = 1; key <= 9; key++) await remembered.get(`${key}`, work)
  expect(await remembered.get('9', work)).toBe(9)
  expect(await remembered.get('1', work)).toBe(10)
  clock.set(clock.now() - 3_600_000)
  expect(await remembered.get('1', work)).toBe(11)
})
