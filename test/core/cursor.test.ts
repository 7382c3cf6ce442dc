import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Cursor } from '../../src/core/cursor.ts'
import { decodeCursor, encodeCursor, epochOf } from '../../src/core/cursor.ts'
import { isBridgeError } from '../../src/errors.ts'

const BASE64URL = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'

const someCursor: fc.Arbitrary<Cursor> = fc.record({
  epoch: fc.stringMatching(/^[A-Za-z0-9]{8}$/),
  sequence: fc.maxSafeNat(),
  timeMs: fc.integer({ min: -8.64e15, max: 8.64e15 }),
})

function isRefused(text: string): boolean {
  try {
    decodeCursor(text)
    return false
  } catch (error) {
    if (!isBridgeError(error, 'cursor_invalid')) throw error
    return error.hint !== undefined
  }
}

describe('a cursor', () => {
  test('decodes to what was encoded, in 39 URL-safe characters', () => {
    fc.assert(
      fc.property(someCursor, (cursor) => {
        const text = encodeCursor(cursor)
        expect(text).toMatch(/^[A-Za-z0-9_-]{39}$/)
        expect(decodeCursor(text)).toEqual(cursor)
        expect(epochOf(text)).toBe(cursor.epoch)
      }),
    )
  })

  test('with any single character changed is rejected', () => {
    for (const cursor of fc.sample(someCursor, { numRuns: 5, seed: 7 })) {
      const text = encodeCursor(cursor)
      for (let place = 0; place < text.length; place++) {
        for (const character of BASE64URL.replace(text.charAt(place), '')) {
          expect(isRefused(text.slice(0, place) + character + text.slice(place + 1))).toBe(true)
        }
      }
    }
  })

  test('cut, lengthened, padded or with two characters swapped is rejected', () => {
    fc.assert(
      fc.property(someCursor, fc.nat(37), (cursor, place) => {
        const text = encodeCursor(cursor)
        expect(isRefused(text.slice(0, place))).toBe(true)
        expect(isRefused(`${text}A`)).toBe(true)
        expect(isRefused(`${text}=`)).toBe(true)
        expect(isRefused(` ${text}`)).toBe(true)
        const swapped =
          text.slice(0, place) + text.charAt(place + 1) + text.charAt(place) + text.slice(place + 2)
        expect(isRefused(swapped)).toBe(swapped !== text)
      }),
    )
  })

  test('is never decoded from any other text', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.base64String()), (text) => {
        expect(isRefused(text)).toBe(true)
      }),
    )
    expect(isRefused('A'.repeat(1_000_000))).toBe(true)
  })
})
