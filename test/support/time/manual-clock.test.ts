import { expect, test } from 'vitest'
import { createManualClock } from './manual-clock.ts'

test('timers fire in the order of their due times, each at its own time, also those set meanwhile', () => {
  const clock = createManualClock(1000)
  const fired: [string, number][] = []
  const note = (name: string) => (): void => {
    fired.push([name, clock.now()])
  }
  clock.after(30, note('third'))
  clock.after(10, () => {
    note('first')()
    clock.after(10, note('second'))
  })
  clock.after(-5, note('at once'))
  clock.after(31, note('never'))
  expect(clock.nextTimerMs()).toBe(0)
  clock.advance(30)
  expect(fired).toEqual([
    ['at once', 1000],
    ['first', 1010],
    ['second', 1020],
    ['third', 1030],
  ])
  expect([clock.now(), clock.nextTimerMs()]).toEqual([1030, 1])
})

test('a cancelled timer never fires; setting the clock keeps the remaining delays', () => {
  const clock = createManualClock(1000)
  const fired: string[] = []
  const cancel = clock.after(10, () => fired.push('cancelled'))
  clock.after(20, () => fired.push('kept'))
  cancel()
  clock.set(0)
  expect([clock.now(), clock.nextTimerMs(), fired]).toEqual([0, 20, []])
  clock.advance(20)
  expect(fired).toEqual(['kept'])
})

test('the clock keeps whole milliseconds, and a timer never fires early', () => {
  const clock = createManualClock(1000)
  const fired: number[] = []
  clock.after(0.25, () => void fired.push(clock.now()))
  clock.after(2.75, () => void fired.push(clock.now()))
  clock.advance(3)
  expect(fired).toEqual([1001, 1003])
})
