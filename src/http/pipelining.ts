/**
 * Handles the requests of a connection one at a time, and ends connections that pipeline more than a few. Node parses
 * all requests of a chunk (64 KB) at once and holds their answers until the client has read those before.
 */
import type { RequestListener } from 'node:http'
import type { Duplex } from 'node:stream'
import { IncomingMessage } from '../lifecycle/node-http.ts'

/** Most requests of a connection that wait behind the one whose answer goes out: some clients pipeline a few. */
const MOST_WAITING = 8

const unanswered = Symbol('unanswered')
const isAboveBound = Symbol('isAboveBound')
const hasUpgrade = Symbol('hasUpgrade')

/** A socket with the number of its requests whose answers are not out. */
type Counted = Duplex & { [unanswered]?: number }

/**
 * A request of the listener. One that is above the bound of its connection poses as an upgrade: Node then stops parsing
 * in the middle of a chunk and hands the connection to the handler of upgrades, which has to end it.
 */
export class BoundedRequest extends IncomingMessage {
  /** Whether as many requests of its connection wait as may. Nothing may answer it. */
  readonly [isAboveBound]: boolean
  declare [hasUpgrade]: boolean

  constructor(socket: ConstructorParameters<typeof IncomingMessage>[0] & Counted) {
    super(socket)
    this[isAboveBound] = (socket[unanswered] ?? 0) > MOST_WAITING
  }

  /** Set by Node's parser. */
  get upgrade(): boolean {
    return this[hasUpgrade] || this[isAboveBound]
  }

  set upgrade(wanted: boolean) {
    this[hasUpgrade] = wanted
  }
}

/** Whether the connection of this request has to end, because as many others wait there as may. */
export function exceedsPipeline(request: IncomingMessage): boolean {
  return request instanceof BoundedRequest && request[isAboveBound]
}

/** The handler, called for each request only once the answers before it on its connection are out. */
export function oneAtATime(handler: RequestListener): RequestListener {
  return (request, response) => {
    const socket: Counted = request.socket
    socket[unanswered] = (socket[unanswered] ?? 0) + 1
    response.on('close', () => {
      socket[unanswered] = (socket[unanswered] ?? 1) - 1
    })
    if (response.socket !== null) return handler(request, response)
    // Node hands the socket to a response when the one before it is finished.
    response.once('socket', () => handler(request, response))
  }
}
