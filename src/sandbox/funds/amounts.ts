/**
 * Amounts of money as announcements state them: a decimal text and its unit. Owns the writing of decimals. Refuses to
 * convert: pence stay pence, pounds stay pounds.
 */

/** GBX is pence; the others are ISO 4217. */
export type Unit = 'GBX' | 'GBP' | 'USD' | 'EUR'

/** `value` is a decimal number as text, so that no digit is lost on the way. */
export interface Amount {
  value: string
  unit: Unit
}

/**
 * `tenThousandths` of a pound, dollar or euro, a whole number, written in that unit: pence with 2 decimals, the others
 * with 4. `extraDecimals` says how many further decimals the number carries.
 */
export function amount(tenThousandths: number, unit: Unit, extraDecimals = 0): Amount {
  return { value: decimal(tenThousandths, (unit === 'GBX' ? 2 : 4) + extraDecimals), unit }
}

/** A percentage, given in hundredths of a per cent. */
export function percent(hundredths: number): { value: string; unit: 'percent' } {
  return { value: decimal(hundredths, 2), unit: 'percent' }
}

/** A whole number of `10^-decimals` as text. */
function decimal(scaled: number, decimals: number): string {
  const digits = String(Math.abs(scaled)).padStart(decimals + 1, '0')
  const sign = scaled < 0 ? '-' : ''
  return `${sign}${digits.slice(0, -decimals)}.${digits.slice(-decimals)}`
}
