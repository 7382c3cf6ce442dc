/**
 * Writes the poller's commits and spent quota units to the log. Each write also stores what changed in the head (cursor,
 * gaps and pending work of the poller) and in the ledger (units spent by time), as key-value rows.
 */
import type { Committed, NewEvent } from '../../core/event.ts'
import type { Purpose } from '../../core/purpose.ts'
import {
  type ClockSetBack,
  type Ledger,
  ledgerAfterRefunds,
  ledgerAfterSpend,
  ledgerSetBack,
  type Refund,
} from '../../governor/quota/time-buckets.ts'
import type { Commit, RejectedItem, Writer } from '../../log/events.ts'
import type { Head } from './head.ts'
import { changedRows, claimedState, type WriterState } from './rows.ts'

/** All or nothing: the events in this order, the rejected items, the changes of the head and of the ledger. */
export interface PollerCommit {
  events: NewEvent[]
  rejected?: RejectedItem[]
  head?: Partial<Omit<Head, 'epoch' | 'sequence' | 'lastSpendMs'>>
  refunds?: Refund[]
  clock?: ClockSetBack
}

/** The ledger after a commit. */
export function ledgerAfterCommit(before: Ledger, { refunds = [], clock }: PollerCommit): Ledger {
  const refunded = ledgerAfterRefunds(before, refunds)
  return clock === undefined ? refunded : ledgerSetBack(refunded, clock)
}

/** The log's writer with the poller's state. Its operations throw what those of `Writer` throw. */
export class PollerWriter {
  readonly #writer: Writer
  #state: WriterState
  /** The state after every operation called so far; null while a fresh log has none of its rows. */
  #queued: WriterState | null

  /** @throws BridgeError `log_damaged` when the claim has read a row that is not JSON */
  constructor(writer: Writer) {
    this.#writer = writer
    this.#state = claimedState(writer)
    this.#queued = writer.rows.size === 0 ? null : this.#state
  }

  /** What the last resolved operation left. */
  get state(): WriterState {
    return this.#state
  }

  /**
   * Durably counts units at `atMs` (our clock) before their request leaves, and sets `head.lastSpendMs`. With no units it
   * only proves that no later writer had claimed.
   */
  async spend(units: number, purpose: Purpose, atMs: number): Promise<void> {
    const { head, ledger } = this.#queued ?? this.#state
    const after = {
      head: { ...head, lastSpendMs: atMs },
      ledger: ledgerAfterSpend(ledger, units, purpose, atMs),
    }
    await this.#write({ events: [] }, after)
  }

  /** Makes the commit durable and visible, all or nothing. Resolves with the events as committed. */
  commit(commit: PollerCommit): Promise<Committed[]> {
    const { events, rejected, head: changes } = commit
    const { head, ledger } = this.#queued ?? this.#state
    const after = {
      head: { ...head, ...structuredClone(changes ?? {}) },
      ledger: ledgerAfterCommit(ledger, commit),
    }
    return this.#write({ events, ...(rejected && { rejected }) }, after)
  }

  /** Gives the claim up cleanly. Never throws; later operations throw `log_fenced`. */
  release(): Promise<void> {
    return this.#writer.release()
  }

  async #write(commit: Commit, after: WriterState): Promise<Committed[]> {
    const rows = changedRows(this.#queued, after)
    this.#queued = after
    const events = await this.#writer.commit({ ...commit, rows })
    const sequence = events.at(-1)?.sequence ?? this.#state.head.sequence
    this.#state = { ...after, head: { ...after.head, sequence } }
    return events
  }
}
