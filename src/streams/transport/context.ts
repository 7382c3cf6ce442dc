/**
 * What every stream of a node shares, whatever carries it. Owns the shape only.
 */
import type { IncomingMessage } from 'node:http'
import type { Chance } from '../../lifecycle/clock.ts'
import type { Logger } from '../../obs/logger.ts'
import type { SessionParts } from '../fanout/session.ts'
import type { SinkParts } from '../fanout/socket-writer.ts'
import type { StreamMetrics } from '../fanout/stream-account.ts'
import type { Places, TokenPlaces } from '../limits/connection-slots.ts'
import type { TokenEnds } from '../limits/token-expiry.ts'

/** A stream that a stopping node ends. */
export interface Stoppable {
  onNodeStops(): void
}

/** Made once by `streams.ts`. */
export interface StreamContext extends SessionParts, SinkParts {
  chance: Chance
  metrics: StreamMetrics
  logger: Logger
  /** Places for streams of both transports. */
  places: Places
  /** The same, by token. */
  tokenPlaces: TokenPlaces
  /** What the places of one address are counted under; null where they are not. */
  addressOf(request: IncomingMessage): string | null
  tokenEnds: TokenEnds
  /** Those that are to be ended then. */
  open: Set<Stoppable>
  /** Drawn anew for each client that is sent away: when to come back, ms. */
  reconnectInMs(): number
  /** Drawn anew for each stream: when it is to come back, ms since 1970. */
  endsMs(): number
}
