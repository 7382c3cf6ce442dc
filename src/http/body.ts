/** Reads the JSON body of a request within a size limit, and refuses a body where the route takes none. */
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { readJson } from '../core/json-structure.ts'
import type { Received } from './bounds/receive-buffers.ts'
import { MAX_BODY_BYTES } from './limits.ts'
import { HttpProblem, retryLater } from './problem.ts'
import type { RouteBody } from './route.ts'

/** What a route says of its body. */
type Wanted = Pick<RouteBody, 'maxBytes' | 'isOptional'>

/** An empty JSON object, with the blanks of JSON. Many clients send it with every POST. */
const EMPTY_OBJECT = /^[ \t\r\n]*\{[ \t\r\n]*\}[ \t\r\n]*$/
/** A larger body is no empty object, and none of it is kept. */
const MAX_EMPTY_BYTES = 1024

/**
 * Reads on to the end of a body that should not be there, at most to the limit; the rest is thrown away by the server.
 * An empty JSON object counts as no body, whatever media type it has.
 * @throws HttpProblem `body_unexpected`, or `body_too_large` as soon as it is known to be
 */
export async function refuseBody(request: IncomingMessage): Promise<void> {
  let isTooLong = false
  const bytes = await readBytes(request, MAX_BODY_BYTES, (length) => {
    isTooLong ||= length > MAX_EMPTY_BYTES
    return isTooLong ? 'dropped' : 'kept'
  })
  if (!isTooLong && isEmpty(bytes)) return
  throw new HttpProblem('body_unexpected', 'this request takes no body, or an empty JSON object')
}

/**
 * The JSON value of a body, which `received` counts while it comes; undefined where the route wants none.
 * @throws HttpProblem `media_type_unsupported`, `body_too_large` as soon as it is known to be, `body_malformed`, and
 * `too_many` or `over_capacity` where too much is under way; as `refuseBody`
 */
export async function bodyOf(
  wanted: Wanted | undefined,
  request: IncomingMessage,
  received: Received,
): Promise<unknown> {
  if (wanted === undefined) return await refuseBody(request)
  const { maxBytes, isOptional = false } = wanted
  if (!isOptional) checkMediaType(request.headers)
  const bytes = await readCounted(request, maxBytes, received)
  if (isOptional && isEmpty(bytes)) return {}
  checkMediaType(request.headers)
  return jsonOf(bytes)
}

async function readCounted(request: IncomingMessage, maxBytes: number, received: Received): Promise<Buffer> {
  try {
    return await readBytes(request, maxBytes, (length) => {
      const noRoom = received.grow(length)
      if (noRoom === null) return 'kept'
      throw noRoom === 'full'
        ? retryLater('over_capacity', 'the bodies of all clients take all the memory that they may')
        : retryLater('too_many', 'the bodies that you send at a time take all the memory that they may')
    })
  } finally {
    received.end()
  }
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
 * The body's bytes, empty where there is none. Leaves the request open, so that an answer can still be sent. `keep` hears how
 * many bytes have come, and whether they are kept; what it throws ends the reading.
 * @throws HttpProblem `body_too_large`
 */
async function readBytes(
  request: IncomingMessage,
  maxBytes: number,
  keep: (bytes: number) => 'kept' | 'dropped',
): Promise<Buffer> {
  const declared = Number(request.headers['content-length'] ?? 0)
  const chunked = request.headers['transfer-encoding'] !== undefined
  if (declared === 0 && !chunked) return Buffer.alloc(0)
  if (declared > maxBytes) throw tooLarge(maxBytes)
  const chunks: Buffer[] = []
  let bytes = 0
  try {
    for await (const chunk of request.iterator({ destroyOnReturn: false })) {
      bytes += chunk.length
      if (bytes > maxBytes) throw tooLarge(maxBytes)
      if (keep(bytes) === 'kept') chunks.push(chunk)
      else chunks.length = 0
    }
  } catch (error) {
    // The connection is kept: the rest is read and thrown away.
    request.resume()
    if (error instanceof HttpProblem) throw error
    // The client has gone. It does not see this answer, but part of a body must not be taken for the whole.
    throw malformed('it ends too early')
  }
  return Buffer.concat(chunks)
}

function tooLarge(maxBytes: number): HttpProblem {
  return new HttpProblem('body_too_large', `the body is larger than ${maxBytes} bytes`)
}
