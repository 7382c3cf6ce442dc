import fc from 'fast-check'
import { expect, test } from 'vitest'
import { PlainPoller } from '../../../../src/cli/commands/demo/plain-poller.ts'
import { MINUTE_MS } from '../../../../src/core/durations.ts'

const START_MS = Date.UTC(2026, 0, 6, 7)
const at = (second: number, revision = 1) => ({
  insertedAt: new Date(START_MS + second * 1000).toISOString(),
  revision,
})
const poller = (pageSize: number) => new PlainPoller({ intervalMs: MINUTE_MS, pageSize }, START_MS)

test('items that came between two polls and do not fit on a page are lost', () => {
  const burst = Array.from({ length: 7 }, (_, item) => at(10 + item))
  const plain = poller(3)
  expect(plain.lostBy(START_MS + 59_999, burst)).toBe(0)
  expect(plain.lostBy(START_MS + MINUTE_MS, burst)).toBe(4)
  expect(plain.lostBy(START_MS + 5 * MINUTE_MS, [...burst, at(100)])).toBe(4)
})

test('what fits on each page is not lost, and an amended item is none', () => {
  const slow = [at(1), at(61), at(62), at(121), at(122, 2), at(123, 2), at(124)]
  expect(poller(2).lostBy(START_MS + 10 * MINUTE_MS, slow)).toBe(0)
})

test('the count is the same however often it is asked for, as by a poller that looks at each minute', () => {
  const seconds = fc.array(fc.integer({ min: 1, max: 600 }), { maxLength: 80 })
  const looks = fc.array(fc.integer({ min: 0, max: 700 }), { maxLength: 20 })
  fc.assert(
    fc.property(seconds, looks, fc.integer({ min: 1, max: 9 }), (given, asked, pageSize) => {
      const items = given.toSorted((one, other) => one - other).map((second) => at(second))
      const minutes = Array.from({ length: 12 }, (_, minute) => minute)
      const naive = minutes.reduce((lost, minute) => {
        const fresh = given.filter((second) => Math.ceil(second / 60) === minute).length
        return lost + Math.max(0, fresh - pageSize)
      }, 0)
      const plain = poller(pageSize)
      for (const second of asked.toSorted((one, other) => one - other)) {
        const nowMs = START_MS + second * 1000
        plain.lostBy(
          nowMs,
          items.filter(({ insertedAt }) => Date.parse(insertedAt) <= nowMs),
        )
      }
      expect(plain.lostBy(START_MS + 11 * MINUTE_MS, items)).toBe(naive)
    }),
  )
})
