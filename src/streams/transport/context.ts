/**
 * Builds the parts that all WebSocket and server-sent event streams of a node share: fan-out, timers, connection limits
 * and memory accounting.
 */
import type { IncomingMessage } from 'node:http'
import type { Reader } from '../../archive/reading/reader.ts'
import type { Filter } from '../../core/filter/filter.ts'
import {
  capacityFor,
  createConnectionSlots,
  createTokenSlots,
  openFilesLimit,
} from '../../http/bounds/connection-slots.ts'
import { addressKey } from '../../http/bounds/remote-address.ts'
import { SendBuffers } from '../../http/bounds/send-buffers.ts'
import { StallWatch } from '../../http/bounds/stall-watch.ts'
import type { Chance, Clock } from '../../lifecycle/clock.ts'
import type { Logger } from '../../obs/logger.ts'
import { FanoutIndex } from '../fanout/fanout-index.ts'
import { FrameBatches } from '../fanout/frame-batches.ts'
import type { EventFraming } from '../fanout/framing.ts'
import type { StreamMetrics } from '../fanout/stream-account.ts'
import { TickBudget } from '../limits/tick-budget.ts'
import { TimerWheel } from '../limits/timer-wheel.ts'
import { TokenExpiry } from '../limits/token-expiry.ts'
import { noFilterRoomReason, StreamRefusal } from './refusal.ts'

/** What streams of either transport need. */
export interface ContextOptions {
  reader: Reader
  clock: Clock
  chance: Chance
  metrics: StreamMetrics
  logger: Logger
  /** Most streams; lowered, with a warning, where the limit of open files is too low. */
  maxClients: number
  /** Most streams of one token, 1,000 by default; the token of the settings has no limit. */
  maxPerToken?: number
  /** The client address of a request; tests replace that of the socket. */
  remoteAddress?: (request: IncomingMessage) => string | undefined
}

/** A stream that is closed when the node stops. */
export interface Stoppable {
  onNodeStops(): void
}

/** What all streams of a node share. */
export type StreamContext = ReturnType<typeof createContext>

const MAX_PER_TOKEN = 1000
/** Clients of a stopping node are asked to reconnect spread over this time. */
const RECONNECT_SPREAD_MS = 5000
/**
 * A client is asked to reconnect after a day ± 25 %. Clients that do so daily also do when a node is replaced, and a new node
 * gets its share of them.
 */
const LIFETIME_MS = 24 * 3_600_000
const LIFETIME_SPREAD = 0.25

/** The context of a node's streams, which are closed one by one after `stopping` aborts: sessions read nothing more then. */
export function createContext(options: ContextOptions, stopping: AbortSignal) {
  const { reader, clock, chance, metrics, logger } = options
  const { maxPerToken = MAX_PER_TOKEN, remoteAddress = socketAddress } = options
  const { maxClients, warning } = capacityFor(options.maxClients, openFilesLimit())
  if (warning !== null) logger.warn('streams.capacity_lowered', { maxClients, warning })
  const sendBuffers = new SendBuffers()
  const tickBudget = new TickBudget()
  const fanoutIndex = new FanoutIndex(reader, clock, sendBuffers)
  return {
    ...{ reader, clock, chance, metrics, logger, stopping, sendBuffers, tickBudget },
    stallWatch: new StallWatch(clock),
    frameBatches: new FrameBatches(reader, clock, sendBuffers, stopping),
    fanoutIndex,
    timerWheel: new TimerWheel(clock, tickBudget),
    /** Slots for the streams of both transports. */
    connectionSlots: createConnectionSlots(maxClients),
    tokenSlots: createTokenSlots(maxPerToken),
    /** The key under which the client's address is counted; null where it is not. */
    addressOf: (request: IncomingMessage) => addressKey(remoteAddress(request)),
    /** The client address itself, also where it is not counted; empty where it is unknown. */
    remoteOf: (request: IncomingMessage) => remoteAddress(request) ?? '',
    tokenExpiry: new TokenExpiry(tickBudget),
    /** @throws StreamRefusal 410 where there is no room for this filter of a WebSocket */
    checkFilterRoom(token: string, filter: Filter | null, framing: EventFraming): void {
      const noRoom = fanoutIndex.roomRefusal(token, filter, framing)
      if (noRoom !== null) throw new StreamRefusal(410, noFilterRoomReason(noRoom))
    },
    /** All open streams. */
    open: new Set<Stoppable>(),
    /** A random delay after which a client that is sent away should reconnect, ms. */
    reconnectInMs: () => Math.round(chance() * RECONNECT_SPREAD_MS),
    /** A random time at which a new stream's lifetime is over, ms since 1970. */
    endsMs: () => clock.now() + LIFETIME_MS * (1 - LIFETIME_SPREAD + 2 * LIFETIME_SPREAD * chance()),
  }
}

function socketAddress({ socket }: IncomingMessage): string | undefined {
  return socket.remoteAddress
}
