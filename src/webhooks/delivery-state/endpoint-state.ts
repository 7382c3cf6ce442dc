/**
 * Defines the inputs and outputs of the state machine that runs an endpoint's deliveries: settings, events, attempts to
 * start, and rows to write.
 */
import type { KeyObject } from 'node:crypto'
import type { Filter } from '../../core/filter/filter.ts'
import type { Change } from '../../log/tables.ts'
import type { DeliveryRow, RetryRow } from './delivery-rows.ts'
import type { ReplayStanding, ReplayStart } from './endpoint-cursors.ts'
import type { StoredCondition } from './endpoint-failing.ts'
import type { Sort } from './scheduling-policy.ts'

/** The settings of an endpoint that its state machine needs. */
export interface MachineConfig {
  maxConcurrency: number
  /** Deliveries a second; null: no limit. */
  rateLimit: number | null
  order: 'none' | 'issuer'
  /** Most events of one request; null: each has its own. */
  maxBatch: number | null
  isActive: boolean
  /** Where and how it is reached, as one text: after a change of it earlier failures mean nothing. */
  target: string
}

/** An event that the endpoint is to receive, without its body. */
export interface Matched {
  sequence: number
  eventId: string
  subject: string
  cursor: string
  /** When the bridge first held it, ms since 1970. */
  recordedMs: number
  /** When the log stored it; absent of a delivery that waits for another try, and of a notice. */
  committedMs?: number
}

/** An endpoint with what its deliveries need. */
export interface DeliveryEndpoint {
  id: string
  /** Another one for each state of it. */
  version: string
  tenant: string
  url: string
  /** The same object as long as the filter does not change: it identifies the filter, and makes reads faster. */
  filter: Filter
  /** Sent with every delivery; they never replace a header of the bridge. */
  headers: Readonly<Record<string, string>>
  maxConcurrency: number
  /** Deliveries a second; null: no limit. */
  rateLimit: number | null
  order: 'none' | 'issuer'
  /** Most events of one request, which is a JSON array then; null: each has its own. */
  maxBatch: number | null
  status: 'active' | 'paused' | 'disabled'
  /** The cursor after which its deliveries begin. */
  start: string
  /** Signing keys, the newest first. */
  keys: readonly KeyObject[]
}

/** How an attempt went, apart from its end. */
export interface EndContext {
  nowMs: number
  /** A number in [0, 1). */
  chance: number
  /** The request left; false where there was no connection. */
  isSent: boolean
}

/** A delivery to send now. */
export interface AttemptStart {
  delivery: Matched
  /** The deliveries that go with it in one batch, after it; absent: none. */
  others?: readonly Matched[]
  /** The number of this attempt, from 1. */
  attempt: number
  sort: Sort
}

/** The state that the last owner of the endpoint left. */
export interface Loaded extends StoredCondition {
  /** Everything up to here is decided. */
  base: number
  /** False where there is no position row yet. */
  isWritten: boolean
  ahead: readonly number[]
  retries: ReadonlyMap<number, RetryRow>
  /** Sequences of the dead, rising. */
  dead: readonly number[]
  replays: readonly ReplayStart[]
}

/** A delivery whose attempt ended; it becomes durable with the next batch. */
export interface PendingOutcome {
  sequence: number
  subject: string
  /** `kept`: a retry row holds it. `done`: delivered or dead. */
  as: 'kept' | 'done'
  holdsSlot: boolean
  changes: readonly Change<DeliveryRow>[]
}

/** How the deliveries of an endpoint stand. */
export interface DeliveryStanding {
  /** Deliveries known and not finished. */
  pending: number
  /** When the oldest of them was recorded, ms since 1970; null where there is none. */
  oldestMs: number | null
  /** Deliveries that were given up. */
  dead: number
  /** How many of these were forgotten, for want of room. */
  forgotten: number
  /** Since when no attempt succeeded, ms since 1970; null while the last one did. */
  failingSinceMs: number | null
  /** Events after this sequence were not read yet; null: it has read all. */
  unreadAfter: number | null
  /** Its replays that are not over, in their order; absent: none. */
  replays?: readonly ReplayStanding[]
}

/** Why an endpoint is disabled: it answered 410, or it failed for too long. */
export type DisableReason = 'gone' | 'failing'

/** Rows to write together, in this order, and what to call when they are durable. */
export interface Batch {
  readonly changes: readonly Change<DeliveryRow>[]
  settled(): void
}
