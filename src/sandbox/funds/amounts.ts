/**
 * Formats amounts of money and percentages as decimal text with a unit. Nothing is converted: pence stay pence, pounds
 * stay pounds.
 */

/** GBX is pence; the others are ISO 4217. */
export type Unit = 'GBX' | 'GBP' | 'USD' | 'EUR'

/** `value` is a decimal number as text, so that no digit is lost. */
export interface Amount {
  value: string
  unit: Unit
}

/**
 * Formats an integer of ten-thousandths of a pound, dollar or euro in `unit`: pence with 2 decimals, the others with 4.
 * `extraDecimals` is the number of further decimals that the integer includes.
 */
export function amount(tenThousandths: number, unit: Unit, extraDecimals = 0): Amount {
  return { value: decimal(tenThousandths, (unit === 'GBX' ? 2 : 4) + extraDecimals), unit }
}

/** Formats a percentage given in hundredths of a per cent. */
export function percent(hundredths: number): { value: string; unit: 'percent' } {
  return { value: decimal(hundredths, 2), unit: 'percent' }
}

/** Formats an integer of `10^-decimals` units as decimal text. */
function decimal(scaled: number, decimals: number): string {
  const digits = Math.abs(scaled)
    .toString()
    .padStart(decimals + 1, '0')
  const sign = scaled < 0 ? '-' : ''
  return `${sign}${digits.slice(0, -decimals)}.${digits.slice(-decimals)}`
}
