/**
 * Generates the text of an API token and hashes it. Tokens are looked up by hash, which an attacker's guesses cannot
 * steer, so no constant-time comparison is needed.
 */
import { hash, randomBytes } from 'node:crypto'

/** Bytes of chance in a token: 256 bits. */
const SECRET_BYTES = 32

/** A new token, 50 characters: `bridge_` and 256 random bits, so that scanners of secrets can know one. */
export function newTokenText(): string {
  return `bridge_${randomBytes(SECRET_BYTES).toString('base64url')}`
}

/** What is kept of a token: SHA-256, hex. */
export function tokenHash(text: string): string {
  return hash('sha256', text)
}
