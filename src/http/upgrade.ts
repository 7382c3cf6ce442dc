/**
 * Defines the handler that takes over WebSocket upgrades, and sends error responses on a socket that has no HTTP
 * response object.
 */
import type { Duplex } from 'node:stream'
import { type IncomingMessage, STATUS_CODES } from '../lifecycle/node-http.ts'
import { type HttpProblem, problemAnswer } from './problem.ts'

/** Takes connections over. */
export interface Upgrade {
  /** Whether this request is to leave HTTP; every other one goes to the app, upgrade or not. Never throws. */
  accepts(request: IncomingMessage): boolean
  /** Takes over the connection of a request that it accepts. `head`: bytes that came behind the request. Never throws. */
  take(request: IncomingMessage, socket: Duplex, head: Buffer): void
}

/** Answers a request that has no response object any more, or never had one, and ends its connection. */
export function endWithProblem(socket: Duplex, problem: HttpProblem): void {
  const { headers, body } = problemAnswer(problem)
  const lines = Object.entries({ ...headers, Connection: 'close' }).map(
    ([name, value]) => `${name}: ${value}\r\n`,
  )
  const status = `HTTP/1.1 ${problem.status} ${STATUS_CODES[problem.status] ?? 'Refused'}`
  socket.end(`${status}\r\n${lines.join('')}\r\n${body}`, () => socket.destroy())
}
