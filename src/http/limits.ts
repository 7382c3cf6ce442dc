/**
 * Checks the length and the encoding of a request's URL and the size of its headers, and defines the default limit on the
 * size of a body.
 */
import type { IncomingMessage } from 'node:http'
import { HttpProblem } from './problem.ts'

/** Longest address, bytes: filters name some hundred identifiers there. */
export const MAX_URL_BYTES = 16 * 1024
/** Largest headers, bytes, without the address. */
export const MAX_HEADER_BYTES = 16 * 1024
/** What Node's parser takes of the first line and the headers together; the smaller limits are checked behind it. */
export const MAX_HEAD_BYTES = MAX_URL_BYTES + MAX_HEADER_BYTES
/** Largest body, bytes, where the route does not say otherwise; however it is sent. */
export const MAX_BODY_BYTES = 64 * 1024

/** @throws HttpProblem `url_too_long` */
export function checkUrlLength(url: string): void {
  if (Buffer.byteLength(url) > MAX_URL_BYTES) {
    throw new HttpProblem('url_too_long', `the address is longer than ${MAX_URL_BYTES} bytes`)
  }
}

/** The refusal of headers larger than MAX_HEADER_BYTES, each with its colon, blank and line end; null for smaller ones. */
export function headersProblem({ rawHeaders }: IncomingMessage): HttpProblem | null {
  const characters = rawHeaders.reduce((sum, text) => sum + text.length + 2, 0)
  if (characters <= MAX_HEADER_BYTES) return null
  return new HttpProblem('headers_too_large', `the headers are larger than ${MAX_HEADER_BYTES} bytes`)
}

/** @throws HttpProblem `url_too_long`, or `url_malformed` for broken percent-encoding, broken UTF-8 and NUL */
export function checkUrl(url: string): void {
  checkUrlLength(url)
  let decoded: string
  try {
    decoded = decodeURIComponent(url)
  } catch {
    throw new HttpProblem('url_malformed', 'the percent-encoding of the address is broken')
  }
  if (decoded.includes('\0')) throw new HttpProblem('url_malformed', 'the address contains NUL')
}
