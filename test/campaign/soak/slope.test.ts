import { describe, expect, test } from 'vitest'
import { seededChance } from '../../../src/core/chance.ts'
import { floorsOf, type Point, slopeOf } from './slope.ts'

/** Samples twice a minute for `minutes`: a saw of collections over what grows by `mbAnHour`. */
function saw(minutes: number, mbAnHour: number, seed = 1): Point[] {
  const chance = seededChance(seed)
  return Array.from({ length: minutes * 2 }, (_, index) => {
    const minute = index / 2
    return { x: minute, y: 60 + (mbAnHour * minute) / 60 + (index % 7) * 6 + chance.next() * 2 }
  })
}

/** As the soak judges it: floors of five minutes, growth an hour. */
function growth(points: readonly Point[]): ReturnType<typeof slopeOf> {
  return slopeOf(floorsOf(points, 5).map(({ x, y }) => ({ x: x / 60, y })))
}

describe('the growth of a process', () => {
  test.each([0, 0.5, 3, 20])('of %d MB an hour is found under a saw of 40 MB', (mbAnHour) => {
    const slope = growth(saw(180, mbAnHour))
    expect(slope?.median).toBeGreaterThan(mbAnHour - 0.5)
    expect(slope?.median).toBeLessThan(mbAnHour + 0.5)
    expect(slope?.low).toBeLessThan(mbAnHour)
    expect(slope?.high).toBeGreaterThan(mbAnHour)
  })

  test('is not moved by a peak of a few minutes', () => {
    const points = saw(180, 0).map(({ x, y }) => ({ x, y: x > 160 && x < 172 ? y + 300 : y }))
    expect(growth(points)?.median).toBeLessThan(0.5)
  })

  test('is that of what collections leave, not of the peaks between them', () => {
    const points = saw(180, 0).map(({ x, y }, index) => ({ x, y: index % 7 === 3 ? y + x : y }))
    expect(growth(points)?.median).toBeLessThan(0.5)
  })

  test('has an interval that holds it for 19 seeds of 20', () => {
    const seeds = Array.from({ length: 200 }, (_, index) => index + 1)
    const held = seeds.filter((seed) => {
      const slope = growth(saw(120, 1, seed))
      return slope !== null && slope.low <= 1 && slope.high >= 1
    })
    expect(held.length).toBeGreaterThan(180)
  })

  test('is not given for a handful of points', () => {
    expect(growth(saw(20, 1))).toBeNull()
  })
})
