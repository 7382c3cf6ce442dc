/**
 * Sends the responses of faults that replace the API's own answer, such as a 429, a redirect or a connection reset.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { errorBody, unauthorised } from '../../api/mirror/refusal.ts'
import type { FaultSetting } from './faults.ts'

/** True for a refusal that upstream would not count as a unit. */
export function isUncounted({ kind, status }: FaultSetting): boolean {
  return kind === 'quota-429' || kind === 'revoke-key' || (kind === 'status' && status === 401)
}

/**
 * Answers instead of the API, for faults that replace the whole response.
 * @returns false when the API must answer: the fault then corrupts its body or ignores its filters
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
    case 'revoke-key':
      answer(response, 401, unauthorised().body)
      return true
    case 'no-content':
      response.writeHead(204).end()
      return true
    case 'redirect':
      response.writeHead(302, { location: '/maintenance' }).end()
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

/** Body of every 429; upstream gives no machine-readable reason. */
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
