import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type Cells, createPooling } from '../../../src/governor/arrivals/pooling.ts'

const CELLS = 80
const belief = fc.tuple(fc.integer({ min: 0, max: 30 }), fc.integer({ min: 1, max: 20 }))
const change = fc.tuple(fc.nat(CELLS - 1), belief)

function cellsOf(beliefs: readonly (readonly [number, number])[]): Cells {
  return {
    seen: Float64Array.from(beliefs, ([seen]) => seen),
    over: Float64Array.from(beliefs, ([, over]) => over / 10),
  }
}

test('cells that change bit by bit expect what the same cells expect at first sight', () => {
  fc.assert(
    fc.property(
      fc.array(belief, { minLength: CELLS, maxLength: CELLS }),
      fc.array(fc.array(change, { maxLength: 3 }), { maxLength: 6 }),
      (first, rounds) => {
        const pooling = createPooling()
        const beliefs = [...first]
        pooling(cellsOf(beliefs))
        for (const changes of rounds) {
          for (const [place, changed] of changes) beliefs[place] = changed
          const cells = cellsOf(beliefs)
          expect(pooling(cells)).toEqual(createPooling()(cells))
        }
      },
    ),
  )
})

test('a thin cell takes alike neighbours with it, and none that has seen far more', () => {
  const quiet = Array.from({ length: 9 }, (_, place) => [place === 4 ? 2 : 1, 10] as const)
  const [expected] = createPooling()(cellsOf(quiet))
  expect(expected).toBeCloseTo(10 / 9, 9)
  const besideBurst = quiet.map((cell, place) => (place === 4 ? ([300, 10] as const) : cell))
  expect(createPooling()(cellsOf(besideBurst))[0]).toBe(1)
  expect(createPooling()(cellsOf(besideBurst))[4]).toBe(300)
})
