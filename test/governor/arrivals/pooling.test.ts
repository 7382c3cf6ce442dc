import { expect, test } from 'vitest'
import { type Cells, pooledRates } from '../../../src/governor/arrivals/pooling.ts'

function cellsOf(beliefs: readonly (readonly [number, number])[]): Cells {
  return {
    seen: Float64Array.from(beliefs, ([seen]) => seen),
    over: Float64Array.from(beliefs, ([, over]) => over / 10),
  }
}

test('a time cell with few items is pooled with similar neighbours, never with a far busier one', () => {
  const quiet = Array.from({ length: 9 }, (_, place) => [place === 4 ? 2 : 1, 10] as const)
  const [expected] = pooledRates(cellsOf(quiet))
  expect(expected).toBeCloseTo(10 / 9, 9)
  const besideBurst = quiet.map((cell, place) => (place === 4 ? ([300, 10] as const) : cell))
  expect(pooledRates(cellsOf(besideBurst))[0]).toBe(1)
  expect(pooledRates(cellsOf(besideBurst))[4]).toBe(300)
})
