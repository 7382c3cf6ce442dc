/** Computes and verifies the check digits of ISIN (ISO 6166) and LEI (ISO 17442). */

/** Two letters, nine letters or digits, and a digit, whether or not that checks the others. */
export const ISIN_SHAPE = /^[A-Z]{2}[0-9A-Z]{9}\d$/

/** True for what has the shape of an ISIN and a valid check digit. */
export function isIsin(text: string): boolean {
  return ISIN_SHAPE.test(text) && luhnSum(digitsOf(text)) % 10 === 0
}

/** The check digit of an ISIN whose first eleven characters are `body` (Luhn over the digits that letters stand for). */
export function isinCheckDigit(body: string): number {
  return (10 - (luhnSum(`${digitsOf(body)}0`) % 10)) % 10
}

/** True for 18 letters or digits and two valid check digits. */
export function isLei(text: string): boolean {
  return /^[0-9A-Z]{18}\d{2}$/.test(text) && BigInt(digitsOf(text)) % 97n === 1n
}

/** The two check digits of an LEI whose first eighteen characters are `body` (ISO 7064, MOD 97-10). */
export function leiCheckDigits(body: string): string {
  const remainder = Number(BigInt(`${digitsOf(body)}00`) % 97n)
  return (98 - remainder).toString().padStart(2, '0')
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
