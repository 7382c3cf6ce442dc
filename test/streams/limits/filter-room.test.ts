import { expect, test } from 'vitest'
import { FilterRoom } from '../../../src/streams/limits/filter-room.ts'

/** A filter of that many ISINs, 15 bytes each. */
const isins = (count: number, first = 0) => ({
  isins: Array.from({ length: count }, (_, at) => `GB${String(first + at).padStart(10, '0')}`),
})

test('different large filters of one token have a limit, and equal ones count once', () => {
  const room = new FilterRoom({ tokenBytes: 10_000, allBytes: 100_000 })
  const filter = isins(500)
  for (let stream = 0; stream < 3; stream++) room.add('a', 'one', filter)
  expect(room.refusal('a', 'one', filter)).toBeNull()
  expect(room.refusal('a', 'two', isins(500, 500))).toBe('token_full')
  expect(room.refusal('b', 'two', isins(500, 500))).toBeNull()
  for (let stream = 0; stream < 3; stream++) room.remove('a', 'one')
  expect(room.refusal('a', 'two', isins(500, 500))).toBeNull()
})

test('many filters of one token have the same limit, however small each is', () => {
  const room = new FilterRoom({ tokenBytes: 10_000, allBytes: 100_000 })
  let count = 0
  while (count < 1000 && room.refusal('a', `${count}`, isins(1, count)) === null) {
    room.add('a', `${count}`, isins(1, count))
    count += 1
  }
  expect(count).toBe(Math.floor(10_000 / '{"isins":["GB0000000000"]}'.length))
  expect(room.refusal('a', 'more', isins(1, count))).toBe('token_full')
  for (let at = 0; at < count; at += 1) room.remove('a', `${at}`)
  expect(room.refusal('a', 'large', isins(600))).toBeNull()
})

test('the filters of all tokens have a limit, which small filters do not use', () => {
  const room = new FilterRoom({ tokenBytes: 10_000, allBytes: 16_000 })
  room.add('a', 'one', isins(500))
  room.add('b', 'two', isins(500, 500))
  expect(room.refusal('c', 'three', isins(500, 1000))).toBe('full')
  expect([room.refusal('c', 'small', isins(10)), room.refusal('c', 'all', null)]).toEqual([null, null])
  room.remove('b', 'two')
  expect(room.refusal('c', 'three', isins(500, 1000))).toBeNull()
})
