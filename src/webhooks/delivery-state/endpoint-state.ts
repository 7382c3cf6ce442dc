/**
 * Defines the inputs and outputs of the state machine that runs an endpoint's deliveries: settings, events, attempts to
 * start, and rows to write.
 */
import type { KeyObject } from 'node:crypto'
import type { Filter } from '../../core/filter/filter.ts'
import type { Change } from '../../log/tables.ts'
import type { DeliveryRow, RetryRow } from './delivery-rows.ts'
import type { ReplayStart } from './endpoint-cursors.ts'
import type { Sort } from './scheduling-policy.ts'

/** The settings of an endpoint that its state machine needs. */
export interface MachineConfig {
  maxConcurrency: number
  /** Deliveries a second; null: no limit. */
  rateLimit: number | null
  order: 'none' | 'issuer'
  isActive: boolean
}

/** An event that the endpoint is to receive, without its body. */
export interface Matched {
  sequence: number
  eventId: string
  subject: string
  cursor: string
  recordedMs: number
}

/** An endpoint with what its deliveries need. */
export interface DeliveryEndpoint {
  id: string
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
  status: 'active' | 'paused' | 'disabled'
  /** The cursor after which its deliveries begin. */
  start: string
  /** Signing keys, the newest first. */
  keys: readonly KeyObject[]
}

/** A delivery to send now. */
export interface AttemptStart {
  delivery: Matched
  /** The number of this attempt, from 1. */
  attempt: number
  sort: Sort
}

/** The state that the last owner of the endpoint left. */
export interface Loaded {
  /** Everything up to here is decided. */
  base: number
  /** False where there is no position row yet. */
  isWritten: boolean
  ahead: readonly number[]
  failingSinceMs: number | null
  retries: ReadonlyMap<number, RetryRow>
  /** Sequences of the dead, rising. */
  dead: readonly number[]
  replays: readonly ReplayStart[]
}

/** Why an endpoint is disabled: it answered 410, or it failed for too long. */
export type DisableReason = 'gone' | 'failing'

/** Rows to write together, in this order, and what to call when they are durable. */
export interface Batch {
  readonly changes: readonly Change<DeliveryRow>[]
  settled(): void
}
