import { expect, test } from 'vitest'
import { createPlaces } from '../../src/lifecycle/places.ts'

test('places are limited in all and for each holder, and each is freed once', () => {
  const places = createPlaces(3, 2)
  const free = places.take('a')
  expect(typeof places.take('a')).toBe('function')
  expect([places.take('a'), typeof places.take('b')]).toEqual(['share_full', 'function'])
  expect([places.take('a'), places.take('b')]).toEqual(['share_full', 'full'])
  if (typeof free === 'string') throw new Error(free)
  free()
  free()
  expect([typeof places.take('b'), places.take('c')]).toEqual(['function', 'full'])
})
