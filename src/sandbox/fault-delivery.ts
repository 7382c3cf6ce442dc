/**
 * How a switched-on fault meets a client: answers of its own, and bodies spoilt on their way out. Owns the harm.
 * Refuses to choose whom it meets: `faults.ts` does. Nothing here waits on a timer that outlives its socket.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { errorBody } from '../api/mirror/refusal.ts'
import type { Clock } from '../lifecycle/clock.ts'
import type { FaultSetting } from './faults.ts'

/** Between two bytes of a dripping body when the fault does not say. */
const DRIP_MS = 100

/** True for a refusal that upstream would not have counted as a unit. */
export function isUncounted({ kind, status }: FaultSetting): boolean {
  return kind === 'quota-429' || (kind === 'status' && status === 401)
}

/**
 * Answers in the place of the API, if the fault is of that sort.
 * @returns false where the API must answer and the body is spoilt afterwards, or its filters are left out
 */
export function answerInPlace(
  fault: FaultSetting,
  request: IncomingMessage,
  response: ServerResponse,
): boolean {
  switch (fault.kind) {
    case 'throttle-429':
    case 'quota-429':
      if (fault.retryAfter !== undefined) response.setHeader('retry-after', fault.retryAfter)
      answer(response, 429, tooManyRequests)
      return true
    case 'status':
      if (fault.retryAfter !== undefined) response.setHeader('retry-after', fault.retryAfter)
      answer(response, fault.status ?? 500, errorBody('the sandbox was told to fail'))
      return true
    case 'refuse-cursor':
      answer(response, 400, errorBody('sinceCursor is too old', 'List without a cursor to get a new one.'))
      return true
    case 'html-200':
      answer(response, 200, '<!doctype html><title>Maintenance</title><h1>Back soon</h1>', 'text/html')
      return true
    case 'reset':
      request.socket.resetAndDestroy()
      return true
    case 'hang-before':
      return true
    default:
      return false
  }
}

/** Body of every 429, whatever its reason: upstream gives no machine-readable one. */
export const tooManyRequests = errorBody('too many requests')

/** Sends a body as JSON, or as the given type. */
export function answer(
  response: ServerResponse,
  status: number,
  body: string,
  type = 'application/json',
): void {
  response.statusCode = status
  response.setHeader('content-type', `${type}; charset=utf-8`)
  response.end(body)
}

/** Sends the API's body spoilt as the fault says. Status and headers are set already. */
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
    case 'hang-inside':
      response.setHeader('content-length', Buffer.byteLength(body))
      response.write(half)
      return
    case 'drip':
      drip(response, Buffer.from(body), fault.intervalMs ?? DRIP_MS, context.clock)
      return
    default:
      response.end(spoiltText(fault.kind, body, context.params))
  }
}

function spoiltText(kind: FaultSetting['kind'], body: string, params: URLSearchParams): string {
  const value: { data?: unknown; meta?: { paging?: Record<string, unknown> } } = JSON.parse(body)
  const paging = value.meta?.paging
  if (paging === undefined) return body
  if (kind === 'null-data') value.data = null
  if (kind === 'stuck-cursor') paging.latestCursor = params.get('sinceCursor')
  if (kind === 'repeat-page' && params.has('pageCursor')) paging.nextCursor = params.get('pageCursor')
  return JSON.stringify(value)
}

/** One byte at a time until the body has ended or the client has gone. */
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
