import fc from 'fast-check'
import { expect, test } from 'vitest'
import { AppliedTimes } from '../../../src/archive/replica/applied-times.ts'

test('each event is visible since its batch, and not before the first batch that was noted', () => {
  const times = new AppliedTimes()
  times.note('e', 3, [5, 100])
  times.note('e', 5, [9, 200])
  const found = [3, 4, 5, 6, 9, 10].map((sequence) => times.of('e', sequence))
  expect(found).toEqual([
    { kind: 'not_kept' },
    { kind: 'at', atMs: 100 },
    { kind: 'at', atMs: 100 },
    { kind: 'at', atMs: 200 },
    { kind: 'at', atMs: 200 },
    { kind: 'not_yet' },
  ])
  expect(times.of('f', 5)).toEqual({ kind: 'not_kept' })
})

test('a hole or another epoch begins anew: what was before it is not known', () => {
  const times = new AppliedTimes()
  times.note('e', 0, [5, 100])
  times.note('e', 7, [9, 200])
  expect([5, 7, 8].map((sequence) => times.of('e', sequence).kind)).toEqual(['not_kept', 'not_kept', 'at'])
  times.note('f', 9, [10, 300])
  expect([times.of('e', 8).kind, times.of('f', 10).kind]).toEqual(['not_kept', 'at'])
})

test('the newest points are kept, and older ones are dropped', () => {
  const times = new AppliedTimes()
  for (let sequence = 1; sequence <= 5000; sequence += 1) times.note('e', sequence - 1, [sequence, sequence])
  expect([904, 905, 5000].map((sequence) => times.of('e', sequence).kind)).toEqual(['not_kept', 'at', 'at'])
})

test('another node that gets some of the newest points from time to time says the same of every event that it knows', () => {
  const steps = fc.array(fc.record({ events: fc.integer({ min: 1, max: 3 }), told: fc.boolean() }), {
    maxLength: 60,
  })
  fc.assert(
    fc.property(steps, fc.integer({ min: 1, max: 8 }), (all, limit) => {
      const [own, other] = [new AppliedTimes(), new AppliedTimes()]
      let last = 0
      for (const [index, { events, told }] of all.entries()) {
        own.note('e', last, [last + events, index])
        last += events
        const points = told ? own.newest(0, limit) : undefined
        if (points !== undefined) other.add(points)
      }
      for (let sequence = 1; sequence <= last; sequence += 1) {
        const said = other.of('e', sequence)
        if (said.kind === 'at') expect(said).toEqual(own.of('e', sequence))
      }
      const points = own.newest(0, limit)
      if (points !== undefined) other.add(points)
      if (last > 0) expect(other.of('e', last)).toEqual(own.of('e', last))
    }),
  )
})

test('only points since the given time are told, and nothing where there are none', () => {
  const times = new AppliedTimes()
  expect(times.newest(0, 10)).toBeUndefined()
  times.note('e', 2, [5, 100])
  times.note('e', 5, [9, 200])
  expect(times.newest(150, 10)).toEqual({ epoch: 'e', after: 5, points: [[9, 200]] })
  expect(times.newest(50, 1)).toEqual({ epoch: 'e', after: 5, points: [[9, 200]] })
  expect(times.newest(50, 10)).toMatchObject({ after: 2 })
  expect(times.newest(201, 10)).toBeUndefined()
})
