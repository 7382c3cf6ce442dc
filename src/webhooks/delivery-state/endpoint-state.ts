/**
 * What goes into and comes out of the machine of an endpoint. Owns the shapes only.
 */
import type { KeyObject } from 'node:crypto'
import type { Filter } from '../../core/filter/filter.ts'
import type { Change } from '../../log/log.ts'
import type { DeliveryRow, RetryRow } from './delivery-rows.ts'
import type { ReplayStart } from './endpoint-cursors.ts'
import type { Sort } from './scheduling-policy.ts'

/** What of an endpoint's settings the machine goes by. */
export interface MachineConfig {
  maxConcurrency: number
  /** Deliveries a second; null: no limit. */
  rateLimit: number | null
  order: 'none' | 'issuer'
  isActive: boolean
}

/** An event that the endpoint is to get; without its body. */
export interface Matched {
  sequence: number
  eventId: string
  subject: string
  cursor: string
  recordedMs: number
}

/** An endpoint as its deliveries need it. */
export interface DeliveryEndpoint {
  id: string
  tenant: string
  url: string
  /** One object for as long as it is the same: reads are faster so. */
  filter: Filter
  /** Sent with every delivery; they take the place of none of ours. */
  headers: Readonly<Record<string, string>>
  maxConcurrency: number
  /** Deliveries a second; null: no limit. */
  rateLimit: number | null
  order: 'none' | 'issuer'
  status: 'active' | 'paused' | 'disabled'
  /** The cursor after which its deliveries begin. */
  start: string
  /** Of the secrets that sign, the newest first. */
  keys: readonly KeyObject[]
}

/** What is to be sent now. */
export interface Start {
  delivery: Matched
  /** Which attempt this is, from 1. */
  attempt: number
  sort: Sort
}

/** What an endpoint left when it was last worked on. */
export interface Loaded {
  /** Everything up to here is decided. */
  base: number
  /** False where no position row says so yet. */
  isWritten: boolean
  ahead: readonly number[]
  failingSinceMs: number | null
  retries: ReadonlyMap<number, RetryRow>
  /** Sequences of the dead, rising. */
  dead: readonly number[]
  replays: readonly ReplayStart[]
}

/** Why the endpoint is to be disabled. */
export type DisableReason = 'gone' | 'failing'

/** Rows to be written together, in this order, and what follows once they are durable. */
export interface Batch {
  readonly changes: readonly Change<DeliveryRow>[]
  settled(): void
}
