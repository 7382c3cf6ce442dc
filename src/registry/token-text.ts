/**
 * A token's text and its hash. Owns how they are drawn. What can be timed of a look-up is a hash, which nobody who
 * guesses can steer: so no comparison of texts is needed, in constant time or not.
 */
import { createHash, randomBytes } from 'node:crypto'

/** Bytes of chance in a token: 256 bits. */
const SECRET_BYTES = 32

/** A new token, 50 characters: `bridge_` and 256 random bits, so that scanners of secrets can know one. */
export function newTokenText(): string {
  return `bridge_${randomBytes(SECRET_BYTES).toString('base64url')}`
}

/** What is kept of a token: SHA-256, hex. */
export function tokenHash(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
