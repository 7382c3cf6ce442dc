/** Reads the JSON body of a request within a size limit, and refuses a body where the route takes none. */
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { readJson } from '../core/json-structure.ts'
import { MAX_BODY_BYTES } from './limits.ts'
import { HttpProblem } from './problem.ts'

/** An empty JSON object, with the blanks of JSON. Many clients send it with every POST. */
const EMPTY_OBJECT = /^[ \t\r\n]*\{[ \t\r\n]*\}[ \t\r\n]*$/

/**
 * Reads on to the end of a body that should not be there, at most to the limit; the rest is thrown away by the server.
 * An empty JSON object counts as no body, whatever media type it has.
 * @throws HttpProblem `body_unexpected`, or `body_too_large` as soon as it is known to be
 */
export async function refuseBody(request: IncomingMessage): Promise<void> {
  const bytes = await readBytes(request, MAX_BODY_BYTES)
  if (isEmpty(bytes)) return
  throw new HttpProblem('body_unexpected', 'this request takes no body, or an empty JSON object')
}

/**
 * The JSON value of a body of at most `maxBytes`.
 * @throws HttpProblem `media_type_unsupported`, `body_too_large` as soon as it is known to be, `body_malformed`
 */
export async function readJsonBody(request: IncomingMessage, maxBytes: number): Promise<unknown> {
  checkMediaType(request.headers)
  return jsonOf(await readBytes(request, maxBytes))
}

/** The same, where no body counts as an empty object. Throws as `readJsonBody`. */
export async function readOptionalBody(request: IncomingMessage, maxBytes: number): Promise<unknown> {
  const bytes = await readBytes(request, maxBytes)
  if (isEmpty(bytes)) return {}
  checkMediaType(request.headers)
  return jsonOf(bytes)
}

function isEmpty(bytes: Buffer): boolean {
  return bytes.length === 0 || EMPTY_OBJECT.test(bytes.toString('latin1'))
}

function jsonOf(bytes: Buffer): unknown {
  if (bytes.length === 0) throw malformed('there is none; this request takes a JSON object')
  let text: string
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw malformed('it is not UTF-8')
  }
  const read = readJson(text)
  if (!read.ok) throw malformed(`it ${read.reason}`)
  return read.value
}

/** JSON is UTF-8 and comes as it is; a parameter that says otherwise is refused before anything is read. */
function checkMediaType(headers: IncomingHttpHeaders): void {
  const [type = '', ...parameters] = (headers['content-type'] ?? '').toLowerCase().split(';')
  const foreign = parameters.map((parameter) => parameter.trim()).filter(isForeignCharset)
  if (type.trim() !== 'application/json' || foreign.length > 0) {
    throw unsupported('the body must come as Content-Type: application/json, in UTF-8')
  }
  if ((headers['content-encoding'] ?? 'identity') !== 'identity') {
    throw unsupported('the body must come without Content-Encoding')
  }
}

function isForeignCharset(parameter: string): boolean {
  return parameter.startsWith('charset=') && !/^charset="?utf-8"?$/.test(parameter)
}

function unsupported(detail: string): HttpProblem {
  return new HttpProblem('media_type_unsupported', detail)
}

function malformed(what: string): HttpProblem {
  return new HttpProblem('body_malformed', `the body cannot be read: ${what}`)
}

/**
 * The body's bytes, empty where there is none. Leaves the request open, so that an answer can still be sent.
 * @throws HttpProblem `body_too_large`
 */
async function readBytes(request: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const declared = Number(request.headers['content-length'] ?? 0)
  const chunked = request.headers['transfer-encoding'] !== undefined
  if (declared === 0 && !chunked) return Buffer.alloc(0)
  if (declared > maxBytes) throw tooLarge(maxBytes)
  const chunks: Buffer[] = []
  let bytes = 0
  try {
    for await (const chunk of request.iterator({ destroyOnReturn: false })) {
      bytes += chunk.length
      if (bytes > maxBytes) break
      chunks.push(chunk)
    }
  } catch {
    // The client has gone. It does not see this answer, but part of a body must not be taken for the whole.
    throw malformed('it ends too early')
  }
  if (bytes <= maxBytes) return Buffer.concat(chunks)
  // The connection is kept: the rest is read and thrown away.
  request.resume()
  throw tooLarge(maxBytes)
}

function tooLarge(maxBytes: number): HttpProblem {
  return new HttpProblem('body_too_large', `the body is larger than ${maxBytes} bytes`)
}
