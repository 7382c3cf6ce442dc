/**
 * `GET /v1/stream`: from an HTTP request to a WebSocket (contract §8). Owns the handshake: path, origin, query,
 * subprotocol, the places there are. Refuses to speak the protocol: `connection.ts` does.
 */
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { type WebSocket, WebSocketServer } from 'ws'
import type { Caller } from '../../http/auth.ts'
import { checkUrl } from '../../http/limits.ts'
import { openQuery } from '../../http/parameters.ts'
import { HttpProblem, problemOf, retryLater } from '../../http/problem.ts'
import type { Route } from '../../http/route.ts'
import { endWithProblem, type Upgrade } from '../../http/upgrade.ts'
import type { Outlet } from '../fanout/socket-writer.ts'
import { createPlaces } from '../limits/connection-slots.ts'
import { MAX_MESSAGE_BYTES, STRANGER_LINGER_MS, serveConnection } from './connection.ts'
import type { StreamContext } from './context.ts'
import { type Credentials, identify, type Shown } from './identity.ts'
import { closeReason, noPlace, noStrangersPlace } from './refusal.ts'
import { messageFramings, type Subprotocol, subprotocols, type UpstreamSign } from './ws-frames.ts'

export interface WebSocketOptions {
  credentials: Credentials
  /** Exact browser origins that may connect. */
  corsOrigins: readonly string[]
  /** What heartbeats tell of the upstream. */
  upstream: () => UpstreamSign
}

const PATH = '/v1/stream'
const VERSION = '13'
/** The query parameter that a browser shows its ticket with. */
const TICKET = 'ticket'
/** Part of all places that connections may hold which have not authenticated yet. */
const UNAUTHENTICATED_SHARE = 0.1
/**
 * Bounds inside the library. A message a little above ours still arrives, so that its sender hears why it is refused;
 * pieces are bounded because each costs memory beyond its bytes. A peer that does not answer a close of the library's own
 * is cut off; where the close was ours, we do it earlier.
 */
const LIBRARY_LIMITS = {
  maxPayload: MAX_MESSAGE_BYTES + 64 * 1024,
  maxFragments: 1024,
  maxBufferedChunks: 4096,
  closeTimeout: 10_000,
}

/** The path for clients without WebSocket, and what takes over the connections of those with it. */
export function webSocketStream(
  context: StreamContext,
  options: WebSocketOptions,
): { route: Route; upgrade: Upgrade } {
  const server = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    handleProtocols: (offered) => chosen(offered) ?? false,
    ...LIBRARY_LIMITS,
  })
  server.on('wsClientError', (error, socket) =>
    endWithProblem(socket, new HttpProblem('request_malformed', error.message)),
  )
  const framingOf = messageFramings({ clock: context.clock, upstream: options.upstream })
  const identifyShown = (shown: Shown): Caller => identify(shown, options.credentials)
  const strangers = createPlaces(Math.max(1, Math.floor(context.places.limit * UNAUTHENTICATED_SHARE)))

  const accept = (webSocket: WebSocket, socket: Duplex, request: IncomingMessage): void => {
    const shown = shownBy(request)
    const address = context.addressOf(request)
    const leave = context.places.take(address)
    if (typeof leave === 'string') return refuseEntry(context, webSocket, noPlace(leave, context.places))
    const leaveStrangers = shown === null ? strangers.take(address) : () => {}
    if (typeof leaveStrangers === 'string') {
      leave()
      return refuseEntry(context, webSocket, noStrangersPlace(leaveStrangers, strangers))
    }
    const subprotocol = chosen([webSocket.protocol]) ?? subprotocols[0]
    serveConnection({
      context,
      webSocket,
      // An upgraded connection of node:http is a net.Socket, typed as less.
      socket: socket as Duplex & Outlet,
      subprotocol,
      framing: framingOf(subprotocol),
      identify: identifyShown,
      shown,
      onAuthenticated: leaveStrangers,
      onClosed: leave,
    })
  }

  return {
    route: {
      method: 'GET',
      path: PATH,
      scope: 'events:read',
      summary:
        'WebSocket, see [streams.md](streams.md#websocket); a request without upgrade is answered 426.',
      parameters: {
        [TICKET]: 'A ticket of `POST /v1/tickets`, in the place of the `Authorization` header.',
      },
      headers: {
        'Sec-WebSocket-Protocol': `${subprotocols.map((name) => `\`${name}\``).join(' or ')}; without it the first.`,
      },
      answers: {
        101: {
          meaning: 'A WebSocket. Without token or ticket in the handshake its first frame brings a token.',
          headers: { 'Sec-WebSocket-Protocol': 'The subprotocol that is spoken, where one was offered.' },
        },
      },
      problems: ['upgrade_required', 'origin_refused'],
      handle: async () => {
        throw upgradeRequired('this path speaks WebSocket; GET /v1/events gives the same over plain HTTP')
      },
    },
    upgrade: {
      accepts: ({ method, headers, url = '' }) =>
        method === 'GET' && headers.upgrade?.toLowerCase() === 'websocket' && url.split('?', 1)[0] === PATH,
      take(request, socket, head) {
        try {
          judge(request, context, options)
        } catch (error) {
          endWithProblem(socket, problemOf(error) ?? new HttpProblem('internal', 'something went wrong'))
          return
        }
        server.handleUpgrade(request, socket, head, (webSocket) => accept(webSocket, socket, request))
      },
    },
  }
}

/** @throws HttpProblem for what is wrong before there is a WebSocket */
function judge(
  { url = '', headers }: IncomingMessage,
  { stopping }: StreamContext,
  { corsOrigins }: WebSocketOptions,
): void {
  checkUrl(url)
  if (stopping.aborted) throw retryLater('unavailable', 'this node is stopping')
  if (headers.origin !== undefined && !corsOrigins.includes(headers.origin)) {
    throw new HttpProblem(
      'origin_refused',
      `pages of ${headers.origin.slice(0, 100)} may not connect; BRIDGE_CORS_ORIGINS lists who may`,
    )
  }
  const query = openQuery(url, [TICKET])
  if (query.text(TICKET) !== null && headers.authorization !== undefined) {
    query.refuse(TICKET, 'does not go together with an Authorization header; give one of them')
  }
  query.check()
  if (headers['sec-websocket-version'] !== VERSION) {
    throw upgradeRequired(`this server speaks version ${VERSION} of the WebSocket protocol`)
  }
}

/** What a handshake that was judged shows of its sender. */
function shownBy({ url = '', headers }: IncomingMessage): Exclude<Shown, { token: string }> | null {
  if (headers.authorization !== undefined) return { header: headers.authorization }
  const ticket = openQuery(url, [TICKET]).text(TICKET)
  return ticket === null ? null : { ticket }
}

function upgradeRequired(detail: string): HttpProblem {
  return new HttpProblem('upgrade_required', detail, {
    headers: { Upgrade: 'websocket', Connection: 'Upgrade', 'Sec-WebSocket-Version': VERSION },
  })
}

/** The first subprotocol of the client's list that is known here. */
function chosen(offered: Iterable<string>): Subprotocol | null {
  for (const name of offered) {
    const known = subprotocols.find((candidate) => candidate === name)
    if (known !== undefined) return known
  }
  return null
}

/** `why`: the reason of the close. */
function refuseEntry({ clock, metrics }: StreamContext, webSocket: WebSocket, why: string): void {
  metrics.streamCloses.add({ transport: 'ws', code: '4100' })
  // Whatever it sends meanwhile is of no interest, broken or not.
  webSocket.on('error', () => {})
  webSocket.on(
    'close',
    clock.after(STRANGER_LINGER_MS, () => webSocket.terminate()),
  )
  webSocket.close(4100, closeReason(why, null))
}
