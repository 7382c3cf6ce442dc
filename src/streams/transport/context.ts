/**
 * Defines what all streams of a node share, on both transports.
 */
import type { IncomingMessage } from 'node:http'
import type { Chance } from '../../lifecycle/clock.ts'
import type { Logger } from '../../obs/logger.ts'
import type { SessionParts } from '../fanout/session.ts'
import type { SocketWriterParts } from '../fanout/socket-writer.ts'
import type { StreamMetrics } from '../fanout/stream-account.ts'
import type { ConnectionSlots, TokenSlots } from '../limits/connection-slots.ts'
import type { TokenExpiry } from '../limits/token-expiry.ts'

/** A stream that is closed when the node stops. */
export interface Stoppable {
  onNodeStops(): void
}

/** Created once by `streams.ts`. */
export interface StreamContext extends SessionParts, SocketWriterParts {
  chance: Chance
  metrics: StreamMetrics
  logger: Logger
  /** Slots for the streams of both transports. */
  connectionSlots: ConnectionSlots
  tokenSlots: TokenSlots
  /** The key under which the client's address is counted; null where it is not. */
  addressOf(request: IncomingMessage): string | null
  tokenExpiry: TokenExpiry
  /** All open streams. */
  open: Set<Stoppable>
  /** A random delay after which a client that is sent away should reconnect, ms. */
  reconnectInMs(): number
  /** A random time at which a new stream's lifetime is over, ms since 1970. */
  endsMs(): number
}
