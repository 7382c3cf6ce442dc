/**
 * Builds the `feed` role: event streams over WebSocket and server-sent events (contract §8). Both transports share one way of
 * reading, the connection slots and the stop.
 */
import type { IncomingMessage } from 'node:http'
import type { Reader } from '../archive/reading/reader.ts'
import type { Route } from '../http/route.ts'
import type { Upgrade } from '../http/upgrade.ts'
import type { Chance, Clock } from '../lifecycle/clock.ts'
import type { Logger } from '../obs/logger.ts'
import { FanoutIndex } from './fanout/fanout-index.ts'
import { FrameBatches } from './fanout/frame-batches.ts'
import type { StreamMetrics } from './fanout/stream-account.ts'
import {
  capacityFor,
  createConnectionSlots,
  createTokenSlots,
  openFilesLimit,
} from './limits/connection-slots.ts'
import { addressKey } from './limits/remote-address.ts'
import { SendBuffers } from './limits/send-buffers.ts'
import { TickBudget } from './limits/tick-budget.ts'
import { TimerWheel } from './limits/timer-wheel.ts'
import { TokenExpiry } from './limits/token-expiry.ts'
import type { StreamContext } from './transport/context.ts'
import type { Credentials } from './transport/identity.ts'
import { sseRoute } from './transport/sse.ts'
import { WebSocketUpgrade, webSocketRoute } from './transport/websocket.ts'
import type { UpstreamSnapshot } from './transport/ws-frames.ts'

/** What streams need. */
export interface StreamsOptions {
  reader: Reader
  clock: Clock
  chance: Chance
  metrics: StreamMetrics
  logger: Logger
  /** Checks the tokens and tickets of WebSockets. */
  credentials: Credentials
  /** Exact browser origins that may open a WebSocket. */
  corsOrigins: readonly string[]
  /** The state of the upstream, for heartbeats. */
  upstream: () => UpstreamSnapshot
  /** Most streams; lowered, with a warning, where the limit of open files is too low. */
  maxClients: number
  /** Most streams of one token, 1,000 by default; the token of the settings has no limit. */
  maxPerToken?: number
  /** The client address of a request; tests replace that of the socket. */
  remoteAddress?: (request: IncomingMessage) => string | undefined
  /** Time in which a slow client must take at least one byte, ms; 30 s by default. */
  stallMs?: number
}

/** The streams of this node. */
export interface Streams {
  readonly routes: readonly Route[]
  /** Accepts WebSockets; give it to the listener. */
  readonly upgrade: Upgrade
  /** Wakes streams when the log has new events, until the signal aborts. Rejects with a fault of the store. */
  run(signal: AbortSignal): Promise<void>
  /** Asks every client to reconnect, ends its stream, and refuses new ones. */
  stop(): void
}

const STALL_MS = 30_000
const MAX_PER_TOKEN = 1000
/** Clients of a stopping node are asked to reconnect spread over this time. */
const RECONNECT_SPREAD_MS = 5000
/**
 * A client is asked to reconnect after a day ± 25 %. Clients that do so daily also do when a node is replaced, and a new node
 * gets its share of them.
 */
const LIFETIME_MS = 24 * 3_600_000
const LIFETIME_SPREAD = 0.25

/** The streams, not yet running. */
export function createStreams(options: StreamsOptions): Streams {
  const { reader, clock, chance, metrics, logger, stallMs = STALL_MS } = options
  const { maxPerToken = MAX_PER_TOKEN, remoteAddress = socketAddress } = options
  const { maxClients, warning } = capacityFor(options.maxClients, openFilesLimit())
  if (warning !== null) logger.warn('streams.capacity_lowered', { maxClients, warning })
  const stopping = new AbortController()
  const sendBuffers = new SendBuffers()
  const fanoutIndex = new FanoutIndex({ reader, clock, sendBuffers })
  const tickBudget = new TickBudget()
  const context: StreamContext = {
    reader,
    frameBatches: new FrameBatches(reader, clock, sendBuffers, stopping.signal),
    fanoutIndex,
    sendBuffers,
    timerWheel: new TimerWheel(clock, tickBudget),
    clock,
    chance,
    metrics,
    logger,
    connectionSlots: createConnectionSlots(maxClients),
    tokenSlots: createTokenSlots(maxPerToken),
    addressOf: (request) => addressKey(remoteAddress(request)),
    stallMs,
    tickBudget,
    tokenExpiry: new TokenExpiry(tickBudget),
    stopping: stopping.signal,
    open: new Set(),
    reconnectInMs: () => Math.round(chance() * RECONNECT_SPREAD_MS),
    endsMs: () => clock.now() + LIFETIME_MS * (1 - LIFETIME_SPREAD + 2 * LIFETIME_SPREAD * chance()),
  }
  const { credentials, corsOrigins, upstream } = options
  return {
    routes: [sseRoute(context), webSocketRoute],
    upgrade: new WebSocketUpgrade(context, { credentials, corsOrigins, upstream }),
    run: (signal) => fanoutIndex.run(signal),
    stop() {
      stopping.abort()
      for (const stream of [...context.open]) tickBudget.run(() => stream.onNodeStops())
    },
  }
}

function socketAddress({ socket }: IncomingMessage): string | undefined {
  return socket.remoteAddress
}
