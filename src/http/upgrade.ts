/**
 * Defines the handler that takes over WebSocket upgrades, and sends error responses on a socket that has no HTTP
 * response object: to requests for an upgrade, and to what Node's parser refuses.
 */
import type { Duplex } from 'node:stream'
import { type IncomingMessage, STATUS_CODES } from '../lifecycle/node-http.ts'
import { MAX_HEAD_BYTES } from './limits.ts'
import { hasLongAnswer } from './long-answer.ts'
import { HttpProblem, type ProblemCode, problemAnswer } from './problem.ts'

/** Takes connections over. */
export interface Upgrade {
  /** Whether this request is to leave HTTP; every other one goes to the app, upgrade or not. Never throws. */
  accepts(request: IncomingMessage): boolean
  /** Takes over the connection of a request that it accepts. `head`: bytes that came behind the request. Never throws. */
  take(request: IncomingMessage, socket: Duplex, head: Buffer): void
}

/** Answers a request that has no response object any more, or never had one, and ends its connection. */
export function endWithProblem(socket: Duplex, problem: HttpProblem): void {
  endWithAnswer(socket, problemAnswer(problem))
}

/**
 * Answers what Node's parser refuses (the event `clientError` of a server), which never reaches an app, and ends its
 * connection. `answerOf`: the form of the answer.
 */
export function answerClientError(
  error: NodeJS.ErrnoException,
  socket: Duplex,
  answerOf: typeof problemAnswer = problemAnswer,
): void {
  if (error.code === 'ECONNRESET' || !socket.writable || hasLongAnswer(socket)) {
    socket.destroy()
    return
  }
  const [code, detail] = refusals[error.code ?? ''] ?? MALFORMED
  endWithAnswer(socket, answerOf(new HttpProblem(code, detail)))
}

const MALFORMED: [ProblemCode, string] = ['request_malformed', 'this is not well-formed HTTP/1.1']
const refusals: Record<string, [ProblemCode, string]> = {
  HPE_HEADER_OVERFLOW: ['headers_too_large', `address and headers are larger than ${MAX_HEAD_BYTES} bytes`],
  ERR_HTTP_REQUEST_TIMEOUT: ['request_timeout', 'the request did not arrive in time'],
}

function endWithAnswer(socket: Duplex, { status, headers, body }: ReturnType<typeof problemAnswer>): void {
  const lines = Object.entries({ ...headers, Connection: 'close' }).map(
    ([name, value]) => `${name}: ${value}\r\n`,
  )
  const statusLine = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'Refused'}`
  socket.end(`${statusLine}\r\n${lines.join('')}\r\n${body}`, () => socket.destroy())
}
