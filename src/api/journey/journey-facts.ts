/** Defines what is known of the way of one event, from which its timeline and the verdict are made. Times are ms since 1970. */
import type { KeptJourney } from '../../archive/journeys.ts'
import type { KeptRequest } from '../../archive/polls.ts'
import type { AttemptOutcome } from '../../core/attempt-end.ts'
import type { FoundBy } from '../../core/purpose.ts'
import type { Caller } from '../../http/auth.ts'
import type { PollResult } from '../../obs/metrics.ts'
import type { ReachedNode } from '../../registry/nodes.ts'

/** A request to the upstream. */
export interface MadeRequest {
  atMs: number
  /** Since when the process that made it led. */
  leaderSinceMs: number
  purpose: KeptRequest[1]
  result: PollResult
  /** The time to the next poll that was planned with it; null where it is no poll. */
  plannedMs: number | null
  /** How long its answer took; null where that is not known. */
  durationMs: number | null
}

/** The requests around an event. */
export interface RequestsAround {
  /** In order; before the event only those that no polls followed of which sums are kept. Empty where none is kept one by one. */
  requests: readonly MadeRequest[]
  /** Polls, and those that failed, of which only sums by minute are kept: they may have been made at any time of it. */
  summed: { polls: number; failed: number }
  /** Upstream's clock minus the leader's then; null where it is not known. */
  aheadMs: number | null
}

/** An attempt to deliver the event. */
export interface JourneyAttempt {
  attempt: number
  atMs: number
  durationMs: number
  outcome: AttemptOutcome
  /** Of the answer; null where there was none. */
  status: number | null
}

/** What became of the event at an endpoint of the caller that wants it. */
export interface JourneyEndpoint {
  endpointId: string
  url: string
  state: 'pending' | 'delivered' | 'dead' | null
  /** Why it has not got the event; null where that is known from the attempts. */
  why: string | null
  /** It is paused or disabled, and the event waits for that. */
  isHeld: boolean
  /** The earliest first. */
  attempts: readonly JourneyAttempt[]
}

/** The endpoints of a caller. */
export interface JourneyEndpoints {
  endpoints: readonly JourneyEndpoint[]
  /** There are more than are shown. */
  hasMore: boolean
}

/** The streams of a caller on this node to which an event was written when it was new. */
export interface JourneyStreams {
  streams: number
  firstMs: number
  lastMs: number
}

/** Asks for the endpoints of a caller; absent where webhooks are not served. */
export type FindEndpoints = (caller: Caller, sequence: number, gone: AbortSignal) => Promise<JourneyEndpoints>

/** Asks for the streams of a caller; null where that is not kept. Absent where this node serves none. */
export type FindStreams = (
  caller: Caller,
  event: { epoch: string; sequence: number; recordedMs: number },
) => JourneyStreams | null

/** Everything that is known of the way of an event. */
export interface JourneyFacts {
  kind: 'announcement' | 'amendment' | 'gap'
  /** By upstream's clock; of an item that is stamped ahead, upstream's present. */
  timeMs: number
  /** Upstream's clock minus ours when it came; null where that is not known. */
  aheadMs: number | null
  foundBy: FoundBy | null
  /** null where the event is from before the version that keeps it. */
  kept: KeptJourney | null
  recordedMs: number
  committedMs: number | null
  /** null where this node could not read them. */
  around: RequestsAround | null
  logKind: 'kafka' | 'embedded'
  nodes: readonly (Pick<ReachedNode, 'isSelf' | 'state' | 'reached'> & { name: string })[]
  /** null where the caller may not see webhooks, or this node does not serve them. */
  webhooks: JourneyEndpoints | null
  /** null where that is not kept; undefined where this node serves no streams. */
  streams: JourneyStreams | null | undefined
}

/** When the request that brought the item left, by our clock; null where that is not kept. */
export function requestedMs({ kept, recordedMs }: Pick<JourneyFacts, 'kept' | 'recordedMs'>): number | null {
  return kept?.requestMs === undefined ? null : recordedMs - kept.requestMs
}

/** The time of the event by our clock, as far as the difference of the clocks is known. */
export function publishedMs({ timeMs, aheadMs }: Pick<JourneyFacts, 'timeMs' | 'aheadMs'>): number {
  return timeMs - (aheadMs ?? 0)
}
