/**
 * Lists the nodes of an installation: each writes a row into a table of the log every 15 s, and takes those of the others
 * from there. A node that is silent is listed as gone, and forgotten after an hour.
 */
import { type Applied, AppliedTimes } from '../archive/replica/applied-times.ts'
import { HOUR_MS } from '../core/durations.ts'
import { type Clock, sleep, within } from '../lifecycle/clock.ts'
import { followTable } from '../log/follow-table.ts'
import type { Change, Table } from '../log/tables.ts'
import type { Logger } from '../obs/logger.ts'
import { type NodeReport, type NodeRow, readNodeRow } from './node-rows.ts'

/** How often a node writes its row. */
export const REPORT_MS = 15_000
/** Silence after which a node counts as gone: three rows. */
export const GONE_MS = 3 * REPORT_MS
/** Time without any row, also of its own, after which a node takes the log to have been away. */
const DEAF_MS = 2 * REPORT_MS
/** How long a node that is gone or has stopped is listed. */
export const LISTED_MS = HOUR_MS
/** Most time for the last row: a stop does not wait for an unavailable log. */
const LAST_ROW_MS = 1000

/** `stopped`: it said so. `gone`: its rows no longer come. */
export const nodeStates = ['up', 'stopped', 'gone'] as const

/** A node as this one knows it. */
export interface ListedNode extends NodeReport {
  id: string
  /** Whether it is this one. */
  isSelf: boolean
  state: (typeof nodeStates)[number]
  /** When its last row arrived here, ms since 1970. */
  seenMs: number
}

/** A node, and when an event became visible on it. */
export interface ReachedNode extends ListedNode {
  reached: Applied
}

/** What the list works with. */
export interface NodesOptions {
  /** null: no other process shares the log. */
  table: Table<NodeRow> | null
  /** This node. */
  id: string
  report: () => NodeReport
  /** When events became visible on this node. */
  applied: Pick<AppliedTimes, 'of'>
  clock: Clock
  logger: Logger
}

/** Another node. */
interface HeardNode {
  row: NodeRow
  /** When its last row arrived here, ms since 1970. */
  seenMs: number
  /** For how long since then no row of any node could arrive, ms. */
  deafMs: number
  /** What its rows have told so far. */
  applied: AppliedTimes
}

/** The nodes that share a log. */
export class Nodes {
  readonly #options: NodesOptions
  readonly #others = new Map<string, HeardNode>()
  /** Nodes whose rows this version cannot read: each is logged once. */
  readonly #unreadable = new Set<string>()
  /** When the table was last known to carry rows: silence of others before that is theirs. null before it was read. */
  #heardMs: number | null = null
  #isFailing = false

  constructor(options: NodesOptions) {
    this.#options = options
  }

  /** Until when this node has heard of the others, ms since 1970; null before it has. */
  get heardMs(): number | null {
    return this.#options.table === null ? this.#options.clock.now() : this.#heardMs
  }

  /** Every node, this one first. */
  list(): ListedNode[] {
    const { id, report, clock } = this.#options
    const own: ListedNode = { id, isSelf: true, state: 'up', seenMs: clock.now(), ...report() }
    const others = [...this.#others].map(([other, heard]): ListedNode => {
      const { row, seenMs } = heard
      const { atMs: _, isStopped, ...reported } = row
      const state = isStopped ? 'stopped' : this.#silenceMs(heard) > GONE_MS ? 'gone' : 'up'
      return { id: other, isSelf: false, state, seenMs, ...reported }
    })
    return [own, ...others]
  }

  /** Every node with when that event became visible on it, by its own clock. Others tell it with their next row. */
  reachedBy(epoch: string, sequence: number): ReachedNode[] {
    return this.list().map((node) => {
      const applied = node.isSelf ? this.#options.applied : this.#others.get(node.id)?.applied
      const reached = applied?.of(epoch, sequence) ?? { kind: 'not_kept' }
      if (reached.kind === 'at') return { ...node, reached }
      return { ...node, reached: { kind: node.sequence < sequence ? 'not_yet' : 'not_kept' } }
    })
  }

  /** Writes the rows of this node and follows those of others until the signal aborts, then writes the last one. */
  async run(signal: AbortSignal): Promise<void> {
    const { table, clock } = this.#options
    if (table === null) return
    const reader = {
      onChange: (change: Change<NodeRow>): void => this.#apply(change),
      onLoaded: (): void => {
        this.#heardMs = clock.now()
      },
    }
    await Promise.all([followTable(table, reader, signal), this.#report(table, signal)])
    await within(clock, LAST_ROW_MS, new AbortController().signal, () => this.#write(table, true))
  }

  async #report(table: Table<NodeRow>, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await within(this.#options.clock, GONE_MS, signal, () => this.#write(table, false))
      await within(this.#options.clock, GONE_MS, signal, () => this.#forget(table))
      await sleep(this.#options.clock, REPORT_MS, signal)
    }
  }

  /** Never rejects: the next row says the same and more. */
  async #write(table: Table<NodeRow>, isStopped: boolean): Promise<void> {
    const { id, report, clock, logger } = this.#options
    try {
      await table.put(id, { ...report(), atMs: clock.now(), isStopped })
      if (this.#isFailing) logger.info('node.report_recovered', {})
      this.#isFailing = false
    } catch (error) {
      if (!this.#isFailing) logger.warn('node.report_failed', { error })
      this.#isFailing = true
    }
  }

  /** Deletes rows of nodes that are long gone. Any node does; one that fails leaves them to the next round. */
  async #forget(table: Table<NodeRow>): Promise<void> {
    for (const [id, heard] of this.#others) {
      if (this.#silenceMs(heard) <= LISTED_MS) continue
      try {
        await table.delete(id)
      } catch (error) {
        this.#options.logger.warn('node.removal_delayed', { node: id, error })
        return
      }
    }
  }

  #apply({ key, value }: Change<NodeRow>): void {
    const { id, clock, logger } = this.#options
    const nowMs = clock.now()
    const isNew = this.#heardMs !== null
    const deafMs = nowMs - (this.#heardMs ?? nowMs)
    // This node's own rows come every 15 s: the log was away, and others may still need 15 s to write theirs. One round
    // counts, or a node would stay up for ever where nobody is left to hear and our own rows are always late.
    if (deafMs > DEAF_MS) for (const other of this.#others.values()) other.deafMs += deafMs - REPORT_MS
    if (isNew) this.#heardMs = nowMs
    if (key === id) return
    const row = readNodeRow(value)
    if (row !== null) {
      // A row that was there at the start may be old.
      const seenMs = isNew ? nowMs : Math.min(row.atMs, nowMs)
      const applied = this.#others.get(key)?.applied ?? new AppliedTimes()
      if (row.applied !== undefined) applied.add(row.applied)
      this.#others.set(key, { row, seenMs, deafMs: 0, applied })
      return
    }
    this.#others.delete(key)
    if (value === null || this.#unreadable.has(key)) return
    this.#unreadable.add(key)
    logger.error('node.unreadable', { node: key })
  }

  /** How long it has been silent while it could be heard. */
  #silenceMs({ seenMs, deafMs }: HeardNode): number {
    return (this.#heardMs ?? seenMs) - seenMs - deafMs
  }
}
