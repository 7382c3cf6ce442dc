/**
 * Accepts WebSockets on `GET /v1/stream`: checks path, origin, query and subprotocol, takes a connection slot
 * and hands the connection to `connection.ts`.
 */
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { type WebSocket, WebSocketServer } from 'ws'
import { isLoopback } from '../../core/ip.ts'
import { bearerHeader } from '../../http/auth.ts'
import { type ConnectionSlots, createConnectionSlots } from '../../http/bounds/connection-slots.ts'
import { checkUrl, checkUrlLength } from '../../http/limits.ts'
import { Query } from '../../http/parameters.ts'
import { HttpProblem, problemOf, retryLater } from '../../http/problem.ts'
import type { RateLimits } from '../../http/rate-limits.ts'
import type { Route } from '../../http/route.ts'
import { endWithProblem, type Upgrade } from '../../http/upgrade.ts'
import { createPlaces, type Places } from '../../lifecycle/places.ts'
import { unauthorisedCodes } from '../../obs/metrics.ts'
import type { Output } from '../fanout/socket-writer.ts'
import { MAX_MESSAGE_BYTES, SHORT_LINGER_MS, serveConnection } from './connection.ts'
import type { StreamContext } from './context.ts'
import { type Credentials, type HandshakeCredential, identify, requireReader } from './identity.ts'
import { closeReason, noSlotReason, noUnauthenticatedSlotReason } from './refusal.ts'
import { type MessageFraming, messageFramings, type Subprotocol, subprotocols } from './ws-frames.ts'

/** What WebSockets need besides the context of all streams. */
export interface WebSocketOptions {
  credentials: Credentials
  /** Exact browser origins that may connect. */
  corsOrigins: readonly string[]
  /** Whether this process serves pages of its own, which may connect too: the role `console`. */
  servesPages: boolean
  /** Rates of requests, of which a handshake is one of its address; absent: no limits. */
  rates?: RateLimits
}

const PATH = '/v1/stream'
const VERSION = '13'
/** The query parameter with the ticket of a browser. */
const TICKET = 'ticket'
/** Share of all slots that unauthenticated connections may hold. */
const UNAUTHENTICATED_SHARE = 0.1
/**
 * Share of these that one address of the operator's own networks may hold. It may be a proxy in front of all clients, so
 * it has more than others; the rest keeps a single client there from locking all others out.
 */
const OWN_ADDRESS_SHARE = 0.8
/**
 * Limits of the ws library. A message slightly above our own limit still arrives, so that its sender gets an error message.
 * Fragments are limited because each costs memory beyond its bytes. `closeTimeout` applies to closes by the library.
 */
const LIBRARY_LIMITS = {
  maxPayload: MAX_MESSAGE_BYTES + 64 * 1024,
  maxFragments: 1024,
  maxBufferedChunks: 4096,
  closeTimeout: 10_000,
}

/** The route for plain HTTP requests to the path, which answers 426. */
export const webSocketRoute: Route = {
  method: 'GET',
  path: PATH,
  scope: 'events:read',
  summary: 'WebSocket, see [websocket.md](websocket.md); a request without upgrade is answered 426.',
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
  // No session of a browser opens a stream.
  identify: () => null,
  handle: async () => {
    throw upgradeRequired(
      'this path serves WebSockets; GET /v1/events serves the same events over plain HTTP',
    )
  },
}

/** Upgrades requests to WebSockets. */
export class WebSocketUpgrade implements Upgrade {
  readonly #context: StreamContext
  readonly #options: WebSocketOptions
  readonly #server: WebSocketServer
  readonly #framingOf: (subprotocol: Subprotocol) => MessageFraming
  readonly #unauthenticatedSlots: ConnectionSlots
  /** The same slots by addresses that those do not count. */
  readonly #byOwnAddress: Places

  constructor(context: StreamContext, options: WebSocketOptions) {
    this.#context = context
    this.#options = options
    this.#framingOf = messageFramings(context)
    const unauthenticated = Math.max(1, Math.floor(context.connectionSlots.limit * UNAUTHENTICATED_SHARE))
    this.#unauthenticatedSlots = createConnectionSlots(unauthenticated)
    this.#byOwnAddress = createPlaces(unauthenticated, Math.ceil(unauthenticated * OWN_ADDRESS_SHARE))
    this.#server = new WebSocketServer({
      noServer: true,
      clientTracking: false,
      perMessageDeflate: false,
      handleProtocols: (offered) => firstKnown(offered) ?? false,
      ...LIBRARY_LIMITS,
    })
    this.#server.on('wsClientError', (error, socket) =>
      endWithProblem(socket, new HttpProblem('request_malformed', error.message)),
    )
  }

  /** Whether the request asks for a WebSocket on this path. */
  accepts({ method, headers, url = '' }: IncomingMessage): boolean {
    return method === 'GET' && headers.upgrade?.toLowerCase() === 'websocket' && url.split('?', 1)[0] === PATH
  }

  /** Completes the handshake, or answers with a problem. */
  take(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    let presented: HandshakeCredential | null
    try {
      this.#options.rates?.takeAddress(request)
      presented = readHandshake(request, this.#context, this.#options)
    } catch (error) {
      endWithProblem(socket, this.#problemOf(error))
      return
    }
    this.#server.handleUpgrade(request, socket, head, (webSocket) =>
      this.#serve(webSocket, request, socket, presented),
    )
  }

  /** What a refused handshake is answered; counts it where a route would. */
  #problemOf(error: unknown): HttpProblem {
    const { logger, metrics } = this.#context
    const problem = problemOf(error)
    if (problem === null) {
      logger.error('http.request_failed', { method: 'GET', path: PATH, error })
      return new HttpProblem('internal', 'internal error of the bridge; its log says more')
    }
    const code = unauthorisedCodes.find((one) => Number(one) === problem.status)
    if (code !== undefined) metrics.httpUnauthorised.add({ code })
    return problem
  }

  #serve(
    webSocket: WebSocket,
    request: IncomingMessage,
    socket: Duplex,
    presented: HandshakeCredential | null,
  ): void {
    const context = this.#context
    const address = context.addressOf(request)
    const { connectionSlots } = context
    const freeSlot = connectionSlots.take(address)
    if (typeof freeSlot === 'string') {
      return refuseEntry(context, webSocket, noSlotReason(freeSlot, connectionSlots))
    }
    const freeUnauthenticated = presented === null ? this.#takeUnauthenticated(request) : () => {}
    if (typeof freeUnauthenticated === 'string') {
      freeSlot()
      return refuseEntry(context, webSocket, freeUnauthenticated)
    }
    const subprotocol = firstKnown([webSocket.protocol]) ?? subprotocols[0]
    serveConnection({
      context,
      webSocket,
      // An upgraded connection of node:http is a net.Socket, typed as less.
      socket: socket as Duplex & Output,
      subprotocol,
      remote: context.remoteOf(request),
      framing: this.#framingOf(subprotocol),
      identify: (credential) => identify(credential, this.#options.credentials),
      presented,
      onAuthenticated: freeUnauthenticated,
      onClosed: freeSlot,
    })
  }

  /** Takes a slot for a connection without credential; returns the function that frees it, or why there is none. */
  #takeUnauthenticated(request: IncomingMessage): (() => void) | string {
    const address = this.#context.addressOf(request)
    const slots = this.#unauthenticatedSlots
    const freeSlot = slots.take(address)
    if (typeof freeSlot === 'string') return noUnauthenticatedSlotReason(freeSlot, slots)
    if (address !== null) return freeSlot
    const own = this.#byOwnAddress
    const freeOwn = own.take(this.#context.remoteOf(request))
    if (typeof freeOwn !== 'string') {
      return () => {
        freeSlot()
        freeOwn()
      }
    }
    freeSlot()
    return noUnauthenticatedSlotReason('address_full', { ...slots, perAddress: own.share })
  }
}

/** Whether pages of an origin may connect: those of the settings, and those that the bridge serves itself. */
function isAllowed(
  origin: string,
  host: string | undefined,
  { corsOrigins, servesPages }: Pick<WebSocketOptions, 'corsOrigins' | 'servesPages'>,
): boolean {
  if (corsOrigins.includes(origin)) return true
  const page = URL.parse(origin)
  if (!servesPages || host === undefined || page?.origin !== origin) return false
  // Without TLS any name may have been made to lead here; a certificate proves it.
  const isProven = page.protocol === 'https:' || (page.protocol === 'http:' && isLoopback(page.hostname))
  return isProven && URL.parse(`${page.protocol}//${host}`)?.host === page.host
}

/**
 * The credential of a handshake; null where it has none.
 * @throws HttpProblem for a request that must not become a WebSocket; where its credential opens nothing, that comes before
 * what is wrong with the rest of it, but for an address that is too long
 */
function readHandshake(
  request: IncomingMessage,
  { stopping }: StreamContext,
  options: WebSocketOptions,
): HandshakeCredential | null {
  const { url = '', headers } = request
  checkUrlLength(url)
  if (stopping.aborted) throw retryLater('unavailable', 'this node is stopping')
  if (headers.origin !== undefined && !isAllowed(headers.origin, headers.host, options)) {
    throw new HttpProblem(
      'origin_refused',
      `pages of ${headers.origin.slice(0, 100)} may not connect; BRIDGE_CORS_ORIGINS lists who may`,
    )
  }
  const query = new Query(url, [TICKET])
  const ticket = query.params.get(TICKET) || null
  // A program that sends another scheme is told so; a browser, which names its page's origin, sends it for a proxy.
  const isBrowser = headers.origin !== undefined
  const header = ticket === null && !isBrowser ? headers.authorization : bearerHeader(headers)
  const presented = header !== undefined ? { header } : ticket === null ? null : { ticket }
  try {
    checkHandshake(request, query, header)
  } catch (error) {
    if (presented !== null) requireReader(presented, options.credentials)
    throw error
  }
  return presented
}

/** @throws HttpProblem `url_malformed`, `parameter_invalid` or `upgrade_required` */
function checkHandshake(
  { url = '', headers }: IncomingMessage,
  query: Query,
  header: string | undefined,
): void {
  checkUrl(url)
  if (query.text(TICKET) !== null && header !== undefined) {
    query.refuse(TICKET, 'cannot be combined with an Authorization header; give one of them')
  }
  query.check()
  if (headers['sec-websocket-version'] !== VERSION) {
    throw upgradeRequired(`this server speaks version ${VERSION} of the WebSocket protocol`)
  }
}

function upgradeRequired(detail: string): HttpProblem {
  return new HttpProblem('upgrade_required', detail, {
    headers: { Upgrade: 'websocket', Connection: 'Upgrade', 'Sec-WebSocket-Version': VERSION },
  })
}

/** The first known subprotocol of the client's list. */
function firstKnown(offered: Iterable<string>): Subprotocol | null {
  for (const name of offered) {
    const known = subprotocols.find((candidate) => candidate === name)
    if (known !== undefined) return known
  }
  return null
}

/** Closes a WebSocket that found no slot with 4100 and this reason. */
function refuseEntry({ clock, metrics }: StreamContext, webSocket: WebSocket, reason: string): void {
  metrics.streamCloses.add({ transport: 'ws', code: '4100' })
  // Errors in what the client still sends are ignored.
  webSocket.on('error', () => {})
  webSocket.on(
    'close',
    clock.after(SHORT_LINGER_MS, () => webSocket.terminate()),
  )
  webSocket.close(4100, closeReason(reason, null))
}
