/**
 * Draws made-up LEIs, ISINs and symbols from a seed; LEIs and ISINs have valid check digits. Any likeness to a real
 * identifier is chance.
 */
import type { SeededChance } from '../../core/chance.ts'
import { isinCheckDigit, leiCheckDigits } from '../../core/check-digits.ts'

const LETTERS = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZ']
const ALPHANUMERIC = [...'0123456789', ...LETTERS]

/** Draws a 20-character LEI: `2138`, 14 drawn characters and two check digits. */
export function drawLei(chance: SeededChance): string {
  const body = `2138${drawText(chance, ALPHANUMERIC, 14)}`
  return `${body}${leiCheckDigits(body)}`
}

/** Draws a 12-character ISIN: country, `00`, seven drawn characters and a check digit. */
export function drawIsin(chance: SeededChance, country: string): string {
  const body = `${country}00${drawText(chance, ALPHANUMERIC, 7)}`
  return `${body}${isinCheckDigit(body)}`
}

/** Draws a listing symbol of `length` letters. */
export function drawSymbol(chance: SeededChance, length: number): string {
  return drawText(chance, LETTERS, length)
}

function drawText(chance: SeededChance, characters: readonly string[], length: number): string {
  let text = ''
  while (text.length < length) text += chance.pick(characters)
  return text
}
