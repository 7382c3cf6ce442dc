import fc from 'fast-check'
import { expect, test } from 'vitest'
import { isIsin, isinCheckDigit, isLei, leiCheckDigits } from '../../src/core/check-digits.ts'

const letters = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZ']
const alphanumeric = fc.constantFrom(...'0123456789', ...letters)
const text = (length: number) =>
  fc.array(alphanumeric, { minLength: length, maxLength: length }).map((parts) => parts.join(''))
const country = fc
  .tuple(fc.constantFrom(...letters), fc.constantFrom(...letters))
  .map((pair) => pair.join(''))

test('the examples of the standards have valid check digits', () => {
  expect(['US0378331005', 'GB0002634946', 'AU0000XVGZA3'].every(isIsin)).toBe(true)
  expect(isLei('213800WSGIIZCXF1P572')).toBe(true)
})

test('a computed check digit is valid and any other last digit is not', () => {
  fc.assert(
    fc.property(country, text(9), fc.integer({ min: 1, max: 9 }), (two, nine, other) => {
      const body = `${two}${nine}`
      const digit = isinCheckDigit(body)
      expect(isIsin(`${body}${digit}`)).toBe(true)
      expect(isIsin(`${body}${(digit + other) % 10}`)).toBe(false)
    }),
  )
  fc.assert(
    fc.property(text(18), (body) => {
      const [tens, ones] = leiCheckDigits(body)
      expect(isLei(`${body}${tens}${ones}`)).toBe(true)
      expect(isLei(`${body}${tens}${(Number(ones) + 1) % 10}`)).toBe(false)
    }),
  )
})

test('an identifier has capitals and digits only, and its length', () => {
  expect(['us0378331005', 'US037833100', 'US03783310051', ' US0378331005', ''].some(isIsin)).toBe(false)
  expect(['213800WSGIIZCXF1P57', '213800wsgiizcxf1p572', ''].some(isLei)).toBe(false)
})
