/**
 * Identifiers with valid check digits: LEI (ISO 17442) and ISIN (ISO 6166). Owns the check digits. Made-up bodies: any
 * likeness to a real identifier is chance.
 */
import type { SeededChance } from '../core/chance.ts'

const LETTERS = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZ']
const ALPHANUMERIC = [...'0123456789', ...LETTERS]

/** A 20-character LEI: 18 drawn characters and two check digits. */
export function drawLei(chance: SeededChance): string {
  const body = `2138${drawText(chance, ALPHANUMERIC, 14)}`
  const remainder = Number(BigInt(`${digitsOf(body)}00`) % 97n)
  return `${body}${String(98 - remainder).padStart(2, '0')}`
}

/** True when the two check digits fit (ISO 7064, MOD 97-10). */
export function isLei(text: string): boolean {
  return /^[0-9A-Z]{18}\d{2}$/.test(text) && BigInt(digitsOf(text)) % 97n === 1n
}

/** A 12-character ISIN with the given country: nine drawn characters and a check digit. */
export function drawIsin(chance: SeededChance, country: string): string {
  const body = `${country}00${drawText(chance, ALPHANUMERIC, 7)}`
  return `${body}${(10 - (luhnSum(`${digitsOf(body)}0`) % 10)) % 10}`
}

/** True when the check digit fits (Luhn over the digits that letters stand for). */
export function isIsin(text: string): boolean {
  return /^[A-Z]{2}[0-9A-Z]{9}\d$/.test(text) && luhnSum(digitsOf(text)) % 10 === 0
}

/** A listing mnemonic of that many letters. */
export function drawSymbol(chance: SeededChance, length: number): string {
  return drawText(chance, LETTERS, length)
}

function drawText(chance: SeededChance, characters: readonly string[], length: number): string {
  let text = ''
  while (text.length < length) text += chance.pick(characters)
  return text
}

/** Letters as the numbers 10 to 35, digits as they are. */
function digitsOf(text: string): string {
  let digits = ''
  for (const character of text) digits += Number.parseInt(character, 36)
  return digits
}

function luhnSum(digits: string): number {
  let sum = 0
  for (let index = digits.length - 1, doubled = false; index >= 0; index--, doubled = !doubled) {
    const value = Number(digits[index]) * (doubled ? 2 : 1)
    sum += value > 9 ? value - 9 : value
  }
  return sum
}
