/**
 * Identifiers with valid check digits: LEI (ISO 17442) and ISIN (ISO 6166). Owns the check digits. Made-up bodies: any
 * likeness to a real identifier is chance.
 */
import type { SeededChance } from '../core/chance.ts'

const DIGITS = '0123456789'
const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ'
const ALPHANUMERIC = [...DIGITS, ...LETTERS]

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
  return drawText(chance, [...LETTERS], length)
}

function drawText(chance: SeededChance, characters: readonly string[], length: number): string {
  return Array.from({ length }, () => chance.pick(characters)).join('')
}

/** Letters as the numbers 10 to 35, digits as they are. */
function digitsOf(text: string): string {
  return [...text].map((character) => ALPHANUMERIC.indexOf(character)).join('')
}

function luhnSum(digits: string): number {
  return [...digits].toReversed().reduce((sum, digit, place) => {
    const value = Number(digit) * (place % 2 === 1 ? 2 : 1)
    return sum + (value > 9 ? value - 9 : value)
  }, 0)
}
