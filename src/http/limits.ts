/**
 * What a request may be before anybody looks at what it asks: the length of its address, its encoding, the size of a
 * body that nobody asked for. Owns these bounds. Refuses to read a body: `body.ts` does.
 */
import { HttpProblem } from './problem.ts'

/** Longest address, bytes. */
export const MAX_URL_BYTES = 4096
/** Largest body, bytes, where the route does not say otherwise; however it is sent. */
export const MAX_BODY_BYTES = 64 * 1024

/** @throws HttpProblem `url_too_long` */
export function checkUrlLength(url: string): void {
  if (Buffer.byteLength(url) > MAX_URL_BYTES) {
    throw new HttpProblem('url_too_long', `the address is longer than ${MAX_URL_BYTES} bytes`)
  }
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
