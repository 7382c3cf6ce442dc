import { expect, test } from 'vitest'
import { parseNet } from '../../../src/core/ip.ts'
import {
  type ConnectionSlots,
  createConnectionLimit,
  createConnectionSlots,
  createTokenSlots,
} from '../../../src/http/bounds/connection-slots.ts'
import { caller } from '../../support/http/callers.ts'

/** Acquires a slot that must be free. */
function taken(places: ConnectionSlots, address: string | null): () => void {
  const leave = places.take(address)
  if (typeof leave === 'string') throw new Error(leave)
  return leave
}

test('slots are limited, and each is freed once', () => {
  const places = createConnectionSlots(2)
  const leave = taken(places, null)
  taken(places, null)
  expect(places.take(null)).toBe('full')
  leave()
  leave()
  taken(places, null)
  expect(places.take(null)).toBe('full')
})

test('one address gets at most half of the slots, whatever others use', () => {
  const places = createConnectionSlots(5)
  const leave = taken(places, 'a')
  taken(places, 'a')
  expect(places.take('a')).toBe('address_full')
  taken(places, 'b')
  leave()
  leave()
  taken(places, 'a')
  expect(places.take('a')).toBe('address_full')
  for (let more = 0; more < 2; more += 1) taken(places, null)
  expect(['a', 'b', null].map((address) => places.take(address))).toEqual(['full', 'full', 'full'])
})

test('one address may use the only slot', () => {
  const places = createConnectionSlots(1)
  taken(places, 'a')()
  taken(places, 'b')
  expect(places.take('a')).toBe('full')
})

test('each token has its own slots, and the token of the settings has no limit', () => {
  const places = createTokenSlots(1)
  const [a, b] = [caller({ tokenId: 'a' }), caller({ tokenId: 'b' })]
  const leave = places.take(a)
  expect([places.take(a), places.take(b)]).toEqual([null, expect.any(Function)])
  leave?.()
  leave?.()
  expect([places.take(a), places.take(a)]).toEqual([expect.any(Function), null])
  const settings = caller({ tokenId: 'settings', seesAllTenants: true })
  expect([1, 2, 3].map(() => places.take(settings))).not.toContain(null)
})

test('an address may have half of all connections, one of our own networks nine tenths, a trusted proxy all', () => {
  const take = createConnectionLimit(100, [parseNet('10.0.0.7/32')])
  const most = (address: string | undefined): number => {
    let count = 0
    while (count < 1000 && take(address) !== null) count += 1
    return count
  }
  expect([most('5.6.7.8'), most('5.6.7.9'), most('2a02::1'), most('2a02::2')]).toEqual([50, 50, 50, 0])
  expect([most('127.0.0.1'), most('10.0.0.1')]).toEqual([90, 90])
  expect([most('10.0.0.7'), most(undefined)]).toEqual([1000, 1000])
})

test('a connection that ends makes room for one of the same address, once', () => {
  const take = createConnectionLimit(4, [])
  const frees = [take('5.6.7.8'), take('5.6.7.8')]
  expect(take('5.6.7.8')).toBeNull()
  for (const free of [frees[0], frees[0]]) free?.()
  expect(take('5.6.7.8')).not.toBeNull()
  expect(take('5.6.7.8')).toBeNull()
})
