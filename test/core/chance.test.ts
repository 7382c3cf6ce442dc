import fc from 'fast-check'
import { expect, test } from 'vitest'
import { seededChance } from '../../src/core/chance.ts'

function draws(seed: number, count: number): number[] {
  const chance = seededChance(seed)
  return Array.from({ length: count }, () => chance.next())
}

test('the same seed gives the same numbers, another seed others', () => {
  fc.assert(
    fc.property(fc.nat(), (seed) => {
      expect(draws(seed, 10)).toEqual(draws(seed, 10))
      expect(draws(seed, 10)).not.toEqual(draws(seed + 1, 10))
    }),
  )
})

test('the sequence is that of mulberry32, on every machine', () => {
  expect(draws(1, 3).map((drawn) => Math.round(drawn * 2 ** 32))).toEqual([2693262067, 11749833, 2265367787])
})

test('numbers are in [0, 1) and spread evenly', () => {
  const numbers = draws(7, 20_000)
  expect(numbers.every((drawn) => drawn >= 0 && drawn < 1)).toBe(true)
  for (let tenth = 0; tenth < 10; tenth++) {
    const share = numbers.filter((drawn) => Math.floor(drawn * 10) === tenth).length / numbers.length
    expect(share).toBeGreaterThan(0.09)
    expect(share).toBeLessThan(0.11)
  }
})

test('between reaches both ends and nothing beyond', () => {
  const chance = seededChance(3)
  const seen = new Set(Array.from({ length: 500 }, () => chance.between(-2, 3)))
  expect([...seen].sort((a, b) => a - b)).toEqual([-2, -1, 0, 1, 2, 3])
  expect(chance.between(5, 5)).toBe(5)
})

test('pick reaches every member and rejects an empty list', () => {
  const chance = seededChance(3)
  expect(new Set(Array.from({ length: 200 }, () => chance.pick(['a', 'b', 'c'])))).toEqual(
    new Set(['a', 'b', 'c']),
  )
  expect(() => chance.pick([])).toThrow(RangeError)
})

test('yes returns true with the given probability', () => {
  const chance = seededChance(3)
  const count = (probability: number): number =>
    Array.from({ length: 5000 }, () => chance.yes(probability)).filter(Boolean).length
  expect(count(0)).toBe(0)
  expect(count(1)).toBe(5000)
  expect(Math.abs(count(0.3) - 1500)).toBeLessThan(150)
})
