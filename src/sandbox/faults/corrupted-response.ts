/**
 * Corrupts response bodies on their way out: truncated, slowed down, wrongly encoded, or with invalid members. No timer
 * outlives its socket.
 */
import type { ServerResponse } from 'node:http'
import { gzipSync } from 'node:zlib'
import type { Clock } from '../../lifecycle/clock.ts'
import type { FaultSetting } from './faults.ts'

/** Default delay between two bytes of a `drip` body. */
const DRIP_MS = 100
/** Bytes that `wrong-length` announces in Content-Length but does not send. */
const MISSING_BYTES = 100
/** Default warning about a filter that the plan does not include. */
const DEFAULT_WARNING = 'a filter was ignored because the plan does not include it'

/** Sends the API's body, corrupted as the fault requires. Status and headers are set already. */
export function sendSpoilt(
  fault: FaultSetting,
  response: ServerResponse,
  body: string,
  context: { params: URLSearchParams; clock: Clock },
): void {
  const half = body.slice(0, Math.floor(body.length / 2))
  switch (fault.kind) {
    case 'truncate':
      response.end(half)
      return
    case 'empty-body':
      response.end()
      return
    case 'hang-inside':
      response.setHeader('content-length', Buffer.byteLength(body))
      response.write(half)
      return
    case 'reset-inside':
      response.setHeader('content-length', Buffer.byteLength(body))
      response.write(half, () => response.socket?.resetAndDestroy())
      return
    case 'wrong-length':
      response.setHeader('connection', 'close')
      response.setHeader('content-length', Buffer.byteLength(body) + MISSING_BYTES)
      response.end(body)
      return
    case 'broken-chunk':
      response.socket?.end(withBrokenChunk(half))
      return
    case 'gzip-rubbish':
      response.setHeader('content-encoding', 'gzip')
      response.end(body)
      return
    case 'gzip-cut': {
      const packed = gzipSync(body)
      response.setHeader('content-encoding', 'gzip')
      response.end(packed.subarray(0, Math.floor(packed.length / 2)))
      return
    }
    case 'drip':
      drip(response, Buffer.from(body), fault.intervalMs ?? DRIP_MS, context.clock)
      return
    default:
      response.end(spoiltText(fault, body, context.params))
  }
}

/** Returns a valid head and first chunk, then a chunk whose length is not a number. */
function withBrokenChunk(text: string): string {
  const head = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n'
  return `${head}${Buffer.byteLength(text).toString(16)}\r\n${text}\r\nnot a length\r\n`
}

interface ListBody {
  data?: unknown
  meta?: { paging?: Record<string, unknown> }
  warnings?: unknown[]
}

/** Changes one member of a list body; any other body is returned unchanged. */
function spoiltText(fault: FaultSetting, body: string, params: URLSearchParams): string {
  const value: ListBody = JSON.parse(body)
  const paging = value.meta?.paging
  if (paging === undefined) return body
  switch (fault.kind) {
    case 'null-data':
      value.data = null
      break
    case 'duplicate-items':
      if (Array.isArray(value.data)) value.data = value.data.flatMap((item: unknown) => [item, item])
      break
    case 'stuck-cursor':
      paging.latestCursor = params.get('sinceCursor')
      break
    case 'repeat-page':
      if (params.has('pageCursor')) paging.nextCursor = params.get('pageCursor')
      break
    case 'warnings':
      value.warnings = [...(value.warnings ?? []), fault.warning ?? DEFAULT_WARNING]
      break
    case 'ignore-filters':
      if (fault.warning === undefined) return body
      value.warnings = [...(value.warnings ?? []), fault.warning]
      break
    default:
      return body
  }
  return JSON.stringify(value)
}

/** Sends one byte at a time until the body ends or the client disconnects. */
function drip(response: ServerResponse, bytes: Buffer, intervalMs: number, clock: Clock): void {
  response.setHeader('content-length', bytes.length)
  let sent = 0
  let cancel = (): void => {}
  const next = (): void => {
    response.write(bytes.subarray(sent, sent + 1))
    sent += 1
    if (sent < bytes.length) cancel = clock.after(intervalMs, next)
    else response.end()
  }
  response.on('close', () => cancel())
  next()
}
