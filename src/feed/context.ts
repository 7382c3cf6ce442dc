/**
 * What every stream of a node shares, whatever carries it. Owns the shape only.
 */
import type { IncomingMessage } from 'node:http'
import type { Reader } from '../archive/reader.ts'
import type { Chance, Clock } from '../lifecycle/clock.ts'
import type { Logger } from '../obs/logger.ts'
import type { StreamMetrics } from './account.ts'
import type { Places, TokenPlaces } from './capacity.ts'

/** Made once by `feed.ts`. */
export interface StreamContext {
  reader: Reader
  clock: Clock
  chance: Chance
  metrics: StreamMetrics
  logger: Logger
  /** Places for streams of both transports. */
  places: Places
  /** Of these, the places of one token. */
  tokenPlaces: TokenPlaces
  /** What a request's address is counted under; null = it is not counted. */
  addressOf(request: IncomingMessage): string | null
  /** Time in which a client must take some byte of what is written. */
  stallMs: number
  /** Aborts when this node stops. */
  stopping: AbortSignal
  /** Drawn anew for each client of a stopping node: when to come back, ms. */
  reconnectInMs(): number
}
