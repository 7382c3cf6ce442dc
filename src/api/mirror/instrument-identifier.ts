/**
 * Parses the `identifier` segment of the fund paths: an ISIN, a symbol, or a symbol with its market (specification
 * §4.4). It checks the form only, not whether the instrument exists.
 */
import { isIsin } from '../../core/check-digits.ts'
import { type Read, read, unreadable } from './parameters.ts'

/** The instrument that a request names; `mic` is null for a bare symbol. */
export type InstrumentIdentifier =
  | { kind: 'isin'; isin: string }
  | { kind: 'symbol'; mic: string | null; symbol: string }

const ISIN_LENGTH = 12
/** A listing mnemonic, with or without a market identifier code (ISO 10383) before a colon. */
const SYMBOL = /^(?:([A-Z0-9]{4}):)?([A-Z0-9][A-Z0-9.]{0,9})$/

/** Parses the decoded segment; 12 characters without a colon are an ISIN. */
export function readIdentifier(text: string): Read<InstrumentIdentifier> {
  if (text.length === ISIN_LENGTH && !text.includes(':')) {
    return isIsin(text)
      ? read({ kind: 'isin', isin: text })
      : unreadable(
          `"${text}" is no ISIN`,
          'An ISIN has capitals and digits, and its last digit checks the others.',
        )
  }
  const [matched, mic = null, symbol = ''] = SYMBOL.exec(text) ?? []
  if (matched !== undefined) return read({ kind: 'symbol', mic, symbol })
  return unreadable(
    `"${text.slice(0, 40)}" names no instrument`,
    'Use an ISIN, a symbol, or <MIC>:<symbol> such as XLON:ABC, in capitals.',
  )
}
