/**
 * What goes into and comes out of the machine of an endpoint. Owns the shapes only.
 */
import type { Change } from '../log/log.ts'
import type { DeliveryRow, RetryRow } from './delivery-rows.ts'
import type { ReplayStart } from './endpoint-cursors.ts'
import type { Sort } from './endpoint-turns.ts'

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
