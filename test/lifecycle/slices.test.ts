import { expect, test } from 'vitest'
import { atOnce, inSlices, type Steps } from '../../src/lifecycle/slices.ts'

function* counting(to: number, seen: number[]): Steps<string> {
  for (let n = 1; n <= to; n++) {
    seen.push(n)
    yield
  }
  return `counted to ${to}`
}

test('steps run until the slice is used up, then other work runs before the next ones', async () => {
  const order: number[] = []
  let nowMs = 0
  const tenMsAStep = (): number => (nowMs += 10)
  setImmediate(() => order.push(0))
  expect(await inSlices(counting(5, order), tenMsAStep)).toBe('counted to 5')
  expect(order).toEqual([1, 2, 0, 3, 4, 5])
})

test('a clock that stands still, or is set back by a day, keeps no step waiting', async () => {
  expect(await inSlices(counting(100, []), () => 0)).toBe('counted to 100')
  let nowMs = 1e9
  const order: number[] = []
  setImmediate(() => order.push(0))
  await inSlices(counting(3, order), () => (nowMs -= 86_400_000))
  expect(order).toEqual([1, 0, 2, 3])
})

test('the steps run at once where nothing is to be interrupted, and an error is passed on', async () => {
  expect(atOnce(counting(3, []))).toBe('counted to 3')
  const failing = function* (): Steps<void> {
    yield
    throw new Error('broken')
  }
  expect(() => atOnce(failing())).toThrow('broken')
  await expect(inSlices(failing(), () => 0)).rejects.toThrow('broken')
})
