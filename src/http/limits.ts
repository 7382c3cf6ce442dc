/**
 * What a request may be before anybody looks at what it asks: the length of its address, its encoding, its body. Owns
 * these bounds. Refuses to read a body: no route of this version takes one.
 */
import type { IncomingMessage } from 'node:http'
import { HttpProblem } from './problem.ts'

/** Longest address, bytes. */
export const MAX_URL_BYTES = 4096
/** Largest body, bytes, however it is sent. */
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

/**
 * Reads on to the end of a body that should not be there, at most to the limit; the rest is thrown away by the server.
 * @throws HttpProblem `body_unexpected`, or `body_too_large` as soon as it is known to be
 */
export async function refuseBody(request: IncomingMessage): Promise<void> {
  const declared = Number(request.headers['content-length'] ?? 0)
  const chunked = request.headers['transfer-encoding'] !== undefined
  if (declared === 0 && !chunked) return
  if (declared > MAX_BODY_BYTES) throw tooLarge()
  const bytes = await countBytes(request)
  if (bytes > MAX_BODY_BYTES) throw tooLarge()
  if (bytes > 0) throw new HttpProblem('body_unexpected', 'this request takes no body')
}

/** Bytes of the body, at most one chunk above the limit. Leaves the request open, so that an answer can still be sent. */
function countBytes(request: IncomingMessage): Promise<number> {
  return new Promise((resolve) => {
    let bytes = 0
    const done = (): void => {
      request.off('data', onData)
      request.off('end', done)
      request.off('close', done)
      resolve(bytes)
    }
    const onData = (chunk: Buffer): void => {
      bytes += chunk.length
      if (bytes > MAX_BODY_BYTES) done()
    }
    request.on('data', onData)
    request.on('end', done)
    request.on('close', done)
  })
}

function tooLarge(): HttpProblem {
  return new HttpProblem('body_too_large', `the body is larger than ${MAX_BODY_BYTES} bytes`)
}
