import { expect, test } from 'vitest'
import { capacityFor, createPlaces, createTokenPlaces, parseOpenFiles } from '../../src/feed/capacity.ts'

test('streams are as many as wished for where enough files may be opened, or nobody knows', () => {
  expect(capacityFor(10_000, 11_000)).toEqual({ maxClients: 10_000, warning: null })
  expect(capacityFor(10_000, null)).toEqual({ maxClients: 10_000, warning: null })
})

test('streams are fewer where the limit of open files is lower, with the remedy', () => {
  const { maxClients, warning } = capacityFor(10_000, 10_999)
  expect(maxClients).toBe(9999)
  expect(warning).toMatch(/11000 \(ulimit -n, LimitNOFILE\).*BRIDGE_STREAM_MAX_CLIENTS/)
  expect(capacityFor(10_000, 256).maxClients).toBe(1)
})

test('the limit is the soft one; an unlimited or missing one is unknown', () => {
  const head = 'Limit                     Soft Limit           Hard Limit           Units     \n'
  expect(
    parseOpenFiles(`${head}Max open files            1024                 524288               files     \n`),
  ).toBe(1024)
  expect(
    parseOpenFiles(`${head}Max open files            unlimited            unlimited            files     \n`),
  ).toBeNull()
  expect(parseOpenFiles('')).toBeNull()
})

test('places are as many as there are, and given back once', () => {
  const places = createPlaces(2)
  const [first, second] = [places.take(), places.take()]
  expect(places.take()).toBeNull()
  first?.()
  first?.()
  expect(places.take()).not.toBeNull()
  expect(places.take()).toBeNull()
  second?.()
  expect(places.take()).not.toBeNull()
})

test('each token has places of its own', () => {
  const places = createTokenPlaces(1)
  const leave = places.take('a')
  expect([places.take('a'), places.take('b')]).toEqual([null, expect.any(Function)])
  leave?.()
  leave?.()
  expect([places.take('a'), places.take('a')]).toEqual([expect.any(Function), null])
})
