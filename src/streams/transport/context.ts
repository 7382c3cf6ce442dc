/**
 * Builds the parts that all WebSocket and server-sent event streams of a node share: fan-out, timers, connection limits
 * and memory accounting.
 */
import type { Reader } from '../../archive/reading/reader.ts'
import { DAY_MS } from '../../core/durations.ts'
import type { Filter } from '../../core/filter/filter.ts'
import type { ReaderLimits } from '../../http/bounds/reader-limits.ts'
import { StallWatch } from '../../http/bounds/stall-watch.ts'
import type { Chance, Clock } from '../../lifecycle/clock.ts'
import type { Logger } from '../../obs/logger.ts'
import { FanoutIndex } from '../fanout/fanout-index.ts'
import { FrameBatches } from '../fanout/frame-batches.ts'
import type { EventFraming, UpstreamSnapshot } from '../fanout/framing.ts'
import { OpenStreams } from '../fanout/open-streams.ts'
import { RecentSends } from '../fanout/recent-sends.ts'
import type { StreamMetrics } from '../fanout/stream-account.ts'
import { TickBudget } from '../limits/tick-budget.ts'
import { TimerWheel } from '../limits/timer-wheel.ts'
import { TokenExpiry } from '../limits/token-expiry.ts'
import { noFilterRoomReason, StreamRefusal } from './refusal.ts'
import { sseFramingOf } from './sse-frames.ts'

/** What streams of either transport need. */
export interface ContextOptions {
  reader: Reader
  clock: Clock
  chance: Chance
  metrics: StreamMetrics
  logger: Logger
  /** The state of the upstream, for heartbeats. */
  upstream: () => UpstreamSnapshot
  /** Places and memory, shared with pulls. */
  limits: ReaderLimits
}

/** What all streams of a node share. */
export type StreamContext = ReturnType<typeof createContext>

/** Clients of a stopping node are asked to reconnect spread over this time. */
const RECONNECT_SPREAD_MS = 5000
/**
 * A client is asked to reconnect after a day ± 25 %. Clients that do so daily also do when a node is replaced, and a new node
 * gets its share of them.
 */
const LIFETIME_MS = DAY_MS
const LIFETIME_SPREAD = 0.25

/** The context of a node's streams, which are closed one by one after `stopping` aborts: sessions read nothing more then. */
export function createContext(options: ContextOptions, stopping: AbortSignal) {
  const { reader, clock, chance, metrics, logger, upstream, limits } = options
  const { sendBuffers } = limits
  const tickBudget = new TickBudget()
  const fanoutIndex = new FanoutIndex(reader, clock, sendBuffers)
  return {
    ...limits,
    ...{ reader, clock, chance, metrics, logger, upstream, stopping, tickBudget },
    sseFraming: sseFramingOf(upstream),
    stallWatch: new StallWatch(clock),
    frameBatches: new FrameBatches(reader, clock, sendBuffers, stopping),
    fanoutIndex,
    timerWheel: new TimerWheel(clock, tickBudget),
    tokenExpiry: new TokenExpiry(tickBudget),
    /** To which streams the newest events were written. */
    recentSends: new RecentSends(clock),
    /** @throws StreamRefusal 410 where there is no room for this filter of a WebSocket */
    checkFilterRoom(token: string, filter: Filter | null, framing: EventFraming): void {
      const noRoom = fanoutIndex.roomRefusal(token, filter, framing)
      if (noRoom !== null) throw new StreamRefusal(410, noFilterRoomReason(noRoom))
    },
    /** All open streams. */
    open: new OpenStreams(),
    /** A random delay after which a client that is sent away should reconnect, ms. */
    reconnectInMs: () => Math.round(chance() * RECONNECT_SPREAD_MS),
    /** A random time at which a new stream's lifetime is over, ms since 1970. */
    endsMs: () => clock.now() + LIFETIME_MS * (1 - LIFETIME_SPREAD + 2 * LIFETIME_SPREAD * chance()),
  }
}
