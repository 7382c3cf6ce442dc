/**
 * The feed role: server-sent events and WebSocket over one way of reading (contract §8). Owns what both share, and the stop.
 * Refuses to know either transport.
 */
import type { IncomingMessage } from 'node:http'
import type { Reader } from '../archive/reading/reader.ts'
import type { Route } from '../http/route.ts'
import type { Upgrade } from '../http/upgrade.ts'
import type { Chance, Clock } from '../lifecycle/clock.ts'
import type { Logger } from '../obs/logger.ts'
import { createFanoutIndex } from './fanout/fanout-index.ts'
import { Blocks } from './fanout/frame-batches.ts'
import type { StreamMetrics } from './fanout/stream-account.ts'
import { capacityFor, createPlaces, createTokenPlaces, openFilesLimit } from './limits/connection-slots.ts'
import { addressKey } from './limits/remote-address.ts'
import { Holdings } from './limits/send-buffers.ts'
import { Turns } from './limits/tick-budget.ts'
import { Wheel } from './limits/timer-wheel.ts'
import { TokenEnds } from './limits/token-expiry.ts'
import type { StreamContext } from './transport/context.ts'
import type { Credentials } from './transport/identity.ts'
import { sseRoute } from './transport/sse.ts'
import { webSocketStream } from './transport/websocket.ts'
import type { UpstreamSign } from './transport/ws-frames.ts'

export interface StreamsOptions {
  reader: Reader
  clock: Clock
  chance: Chance
  metrics: StreamMetrics
  logger: Logger
  /** Who knows the tokens and tickets of WebSockets. */
  credentials: Credentials
  /** Exact browser origins that may open a WebSocket. */
  corsOrigins: readonly string[]
  /** What heartbeats tell of the upstream. */
  upstream: () => UpstreamSign
  /** Most streams wished for; lowered, with a warning, where fewer files may be open. */
  maxClients: number
  /** Most streams of one token, 1,000 unless told otherwise; the token of the settings has no such limit. */
  maxPerToken?: number
  /** The address of a request's other end; its socket's unless a test says otherwise. */
  remoteAddress?: (request: IncomingMessage) => string | undefined
  /** Time in which a client must take some byte of what is written; 30 s unless a test says otherwise. */
  stallMs?: number
}

export interface Feed {
  readonly routes: readonly Route[]
  /** Takes WebSockets over; give it to the listener. */
  readonly upgrade: Upgrade
  /** Wakes streams when the log goes on, until the signal aborts. Rejects with a fault of the store. */
  run(signal: AbortSignal): Promise<void>
  /** Tells every client to come back, ends its stream, and refuses new ones. */
  stop(): void
}

const STALL_MS = 30_000
const MAX_PER_TOKEN = 1000
/** Clients of a stopping node come back spread over this time. */
const RECONNECT_SPREAD_MS = 5000
/**
 * A stream is sent away after a day, give or take a quarter: clients that come back every day anyway come back when a
 * node is replaced, and a node that was added gets its share.
 */
const LIFETIME_MS = 24 * 3_600_000
const LIFETIME_SPREAD = 0.25

/** The role's routes and its stop. */
export function createStreams(options: StreamsOptions): Feed {
  const { reader, clock, chance, metrics, logger, stallMs = STALL_MS } = options
  const { maxPerToken = MAX_PER_TOKEN, remoteAddress = socketAddress } = options
  const { maxClients, warning } = capacityFor(options.maxClients, openFilesLimit())
  if (warning !== null) logger.warn('streams.capacity_lowered', { maxClients, warning })
  const stopping = new AbortController()
  const holdings = new Holdings()
  const blocks = new Blocks(reader, clock, holdings, stopping.signal)
  const audience = createFanoutIndex({ reader, clock, holdings })
  const turns = new Turns()
  const context: StreamContext = {
    reader,
    blocks,
    audience,
    holdings,
    wheel: new Wheel(clock, turns),
    clock,
    chance,
    metrics,
    logger,
    places: createPlaces(maxClients),
    tokenPlaces: createTokenPlaces(maxPerToken),
    addressOf: (request) => addressKey(remoteAddress(request)),
    stallMs,
    turns,
    tokenEnds: new TokenEnds(turns),
    stopping: stopping.signal,
    open: new Set(),
    reconnectInMs: () => Math.round(chance() * RECONNECT_SPREAD_MS),
    endsMs: () => clock.now() + LIFETIME_MS * (1 - LIFETIME_SPREAD + 2 * LIFETIME_SPREAD * chance()),
  }
  const { credentials, corsOrigins, upstream } = options
  const stream = webSocketStream(context, { credentials, corsOrigins, upstream })
  return {
    routes: [sseRoute(context), stream.route],
    upgrade: stream.upgrade,
    run: (signal) => audience.run(signal),
    stop() {
      stopping.abort()
      for (const stream of [...context.open]) turns.add(() => stream.onNodeStops())
    },
  }
}

function socketAddress({ socket }: IncomingMessage): string | undefined {
  return socket.remoteAddress
}
