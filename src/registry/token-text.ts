/**
 * A token's text, its hash and its id. Owns how they are drawn. What can be timed of a look-up is a hash, which nobody who
 * guesses can steer: so no comparison of texts is needed, in constant time or not.
 */
import { createHash, randomBytes } from 'node:crypto'

/** Bytes of chance in a token: 256 bits. */
const SECRET_BYTES = 32
const ID_BYTES = 6
/** Digits of a time in base 36: enough until the year 5188. */
const TIME_DIGITS = 9

/** A new token, 50 characters: `bridge_` and 256 random bits, so that scanners of secrets can know one. */
export function newTokenText(): string {
  return `bridge_${randomBytes(SECRET_BYTES).toString('base64url')}`
}

/** What is kept of a token: SHA-256, hex. */
export function tokenHash(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

/** A new id. Ids rise with the time of creation; inside a millisecond they are in no order. */
export function newTokenId(nowMs: number): string {
  const time = nowMs.toString(36).padStart(TIME_DIGITS, '0')
  return `tok_${time}${randomBytes(ID_BYTES).toString('hex')}`
}

/** Whether a text has the form of an id. */
export function isTokenId(text: string): boolean {
  return /^tok_[0-9a-z]{21}$/.test(text)
}
