import fc from 'fast-check'
import { expect, test } from 'vitest'
import { portionsOf } from '../../src/lifecycle/portions.ts'

const sizes = fc.array(fc.nat(9), { maxLength: 30 })
const limits = fc.record({ members: fc.integer({ min: 1, max: 5 }), size: fc.nat(12) })
const total = (portion: readonly number[]): number => portion.reduce((sum, size) => sum + size, 0)

test('portions hold every member in order, and each is as large as the limits allow', () => {
  fc.assert(
    fc.property(sizes, limits, (members, most) => {
      const portions = portionsOf(members, most, (size) => size)
      expect(portions.flat()).toEqual(members)
      for (const [index, portion] of portions.entries()) {
        expect(portion.length).toBeGreaterThan(0)
        expect(portion.length).toBeLessThanOrEqual(most.members)
        if (portion.length > 1) expect(total(portion)).toBeLessThanOrEqual(most.size)
        const [next] = portions[index + 1] ?? []
        if (next === undefined) continue
        expect(portion.length === most.members || total(portion) + next > most.size).toBe(true)
      }
    }),
  )
})
