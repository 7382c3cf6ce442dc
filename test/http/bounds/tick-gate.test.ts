import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { TickGate } from '../../../src/http/bounds/tick-gate.ts'

test('one passes in each tick, in order, and the first at once', async () => {
  const gate = new TickGate()
  const passed: number[] = []
  for (let number = 0; number < 20; number += 1) void gate.pass().then(() => passed.push(number))
  await Promise.resolve()
  expect(passed).toEqual([0])
  for (let before = 1; passed.length < 20; before = passed.length) {
    await nextTurn()
    expect(passed.length - before).toBeLessThanOrEqual(1)
  }
  expect(passed).toEqual(Array.from({ length: 20 }, (_, number) => number))
  await nextTurn()
  await nextTurn()
  let isThrough = false
  void gate.pass().then(() => {
    isThrough = true
  })
  await Promise.resolve()
  expect(isThrough).toBe(true)
})
