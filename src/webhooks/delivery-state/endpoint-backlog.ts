/**
 * Holds an endpoint's waiting deliveries (for a retry, or for an earlier event of the same issuer), and finds the one
 * that is due first. With `order: issuer`, only the first unfinished event of an issuer becomes due. Bodies are not
 * kept: a waiting delivery costs half a kilobyte.
 */
import type { RetryRow } from './delivery-rows.ts'
import type { Matched } from './endpoint-state.ts'
import { IssuerOrder } from './issuer-order.ts'

/** Most waiting deliveries of an endpoint, with those that wait for an earlier one of their issuer; then reading waits. */
export const MOST_WAITING = 1000

/** Deliveries that are taken for one request, by sequence. */
type Taken = Pick<ReadonlyMap<number, unknown>, 'has'>
const NONE: Taken = new Map()

/** The waiting deliveries of one endpoint. Moments are ms since 1970. */
export class Backlog {
  readonly #rows: Map<number, RetryRow>
  /** When those that may be sent are due. */
  readonly #armed = new Map<number, number>()
  /** Waiting deliveries whose row is not durable yet. */
  readonly #unwritten = new Set<number>()
  readonly #isInFlight: (sequence: number) => boolean
  /** What `first` gives; undefined: to be searched, 20 µs where a thousand wait. */
  #first: { sequence: number; dueMs: number } | null | undefined
  /** No row was set later than that. */
  #lastSetMs = 0
  /**
   * With `order: issuer`: waiting events behind the cursor's read position, rising. An earlier owner of the shard had read
   * them; events of the same issuer before them may still have to be read.
   */
  #unread: number[] = []
  /** null: `order: none`. */
  #order: IssuerOrder | null = null

  constructor(retries: ReadonlyMap<number, RetryRow>, isInFlight: (sequence: number) => boolean) {
    this.#isInFlight = isInFlight
    this.#rows = new Map(retries)
    for (const row of retries.values()) this.#lastSetMs = Math.max(this.#lastSetMs, row.setMs ?? 0)
  }

  /** How many wait. */
  get size(): number {
    return this.#rows.size
  }

  /** How many wait, without those behind the read position. */
  get readSize(): number {
    return this.#rows.size - this.#unread.length
  }

  /** When the oldest of them was recorded; null where none waits. */
  get oldestMs(): number | null {
    let oldestMs: number | null = null
    for (const { recordedMs } of this.#rows.values()) oldestMs = Math.min(oldestMs ?? recordedMs, recordedMs)
    return oldestMs
  }

  /** Waiting deliveries whose rows have them due after `nowMs`, without those in flight. */
  later(nowMs: number): [sequence: number, row: RetryRow][] {
    return [...this.#rows].filter(([sequence, { dueMs }]) => dueMs > nowMs && !this.#isInFlight(sequence))
  }

  /** The row of a waiting delivery. */
  row(sequence: number): RetryRow | undefined {
    return this.#rows.get(sequence)
  }

  /** The delivery that is due first, of several the one with the lowest sequence, and when. */
  first(): { sequence: number; dueMs: number } | null {
    if (this.#first === undefined) {
      this.#first = null
      for (const [sequence, dueMs] of this.#armed) this.#first = earlier(this.#first, { sequence, dueMs })
    }
    return this.#first
  }

  /**
   * Where the clock was set back behind the moment at which a wait was decided, the wait begins anew: else it would last
   * longer by the step. To be called before `first`.
   */
  heedClock(nowMs: number): void {
    if (nowMs >= this.#lastSetMs) return
    this.#lastSetMs = nowMs
    for (const [sequence, row] of this.#rows) {
      const aheadMs = (row.setMs ?? 0) - nowMs
      if (aheadMs <= 0) continue
      this.#rows.set(sequence, { ...row, dueMs: row.dueMs - aheadMs, setMs: nowMs })
      if (!this.#armed.has(sequence)) continue
      this.take(sequence)
      this.retryAt(sequence, 0)
    }
  }

  /** Starts the order anew. `others`: unfinished events that do not wait as rows. `readTo`: the cursor's read position. */
  setOrder(order: 'none' | 'issuer', readTo: number, others: Iterable<Matched>): void {
    this.#unread = []
    this.#order = null
    if (order === 'issuer') this.#orderByIssuer(readTo, others)
    for (const sequence of this.#rows.keys()) {
      this.take(sequence)
      this.#allow(sequence)
    }
  }

  /** Puts an event at the end of its issuer's line. */
  enter({ subject, sequence }: Matched): void {
    this.#order?.enter(subject, sequence)
  }

  /** True where no unfinished event of its issuer comes before it, other than those `taken` for the same request. */
  isFirst({ subject, sequence }: Pick<Matched, 'subject' | 'sequence'>, taken: Taken = NONE): boolean {
    return this.#order?.isFirst(subject, sequence, taken) ?? true
  }

  /** The cursor has read up to `readTo`: waiting events up to there enter the line of their issuer. */
  passedTo(readTo: number): void {
    for (let [next] = this.#unread; next !== undefined && next <= readTo; [next] = this.#unread) {
      this.#unread.shift()
      this.#order?.enter(this.#rows.get(next)?.subject ?? '', next)
      this.#allow(next)
    }
  }

  /** Adds or replaces a row; the delivery is not due before the row is `written`. */
  put(sequence: number, row: RetryRow): void {
    this.take(sequence)
    this.#rows.set(sequence, row)
    this.#lastSetMs = Math.max(this.#lastSetMs, row.setMs ?? 0)
    this.#unwritten.add(sequence)
  }

  /** The row is durable, and the delivery is not in flight any more. */
  written(sequence: number): void {
    this.#unwritten.delete(sequence)
    this.#allow(sequence)
  }

  /** The delivery is sent now: it is not due until its row is written again. */
  take(sequence: number): void {
    this.#armed.delete(sequence)
    if (this.#first?.sequence === sequence) this.#first = undefined
  }

  /**
   * Takes a due delivery, and those that are sent in one request with it, `most` in all, in rising order: those that it was
   * tried with before; of an untried one, other untried ones that are due. `row` has their tries.
   */
  takeTogether(
    sequence: number,
    most: number,
    nowMs: number,
  ): { row: Pick<RetryRow, 'tries' | 'asked'>; deliveries: Matched[] } {
    const lead = this.#rows.get(sequence)
    if (lead === undefined) return { row: { tries: 0 }, deliveries: [] }
    const taken = new Map<number, Matched>()
    for (const [other, row] of this.#candidates(sequence, lead, most, nowMs)) {
      if (taken.size >= most) break
      const { eventId, subject, cursor, recordedMs } = row
      const delivery = { sequence: other, eventId, subject, cursor, recordedMs }
      if (this.isFirst(delivery, taken)) taken.set(other, delivery)
    }
    for (const other of taken.keys()) this.take(other)
    return { row: lead, deliveries: [...taken.values()] }
  }

  #candidates(sequence: number, lead: RetryRow, most: number, nowMs: number): [number, RetryRow][] {
    const { tries, batch } = lead
    if (most === 1 || (batch === undefined && tries > 0)) return [[sequence, lead]]
    return [...this.#rows]
      .filter(
        // A part of the batch may have been tried since, where `maxBatch` was lowered: it has other tries.
        ([, row]) =>
          row.batch === batch && row.tries === tries && (batch !== undefined || row.dueMs <= nowMs),
      )
      .filter(([other]) => !this.#unwritten.has(other) && !this.#isInFlight(other))
      .sort(([one], [other]) => one - other)
  }

  /** The delivery was not sent: it is due again, not before `atMs`. One that waits for an earlier one of its issuer is not due. */
  retryAt(sequence: number, atMs: number): void {
    const row = this.#rows.get(sequence)
    if (row === undefined || this.#armed.has(sequence)) return
    if (!this.isFirst({ subject: row.subject, sequence })) return
    const dueMs = Math.max(row.dueMs, atMs)
    this.#armed.set(sequence, dueMs)
    if (this.#first !== undefined) this.#first = earlier(this.#first, { sequence, dueMs })
  }

  /** The delivery is finished, durably: the next of its issuer may become due. */
  finished(subject: string, sequence: number): void {
    this.take(sequence)
    this.#rows.delete(sequence)
    const next = this.#order?.leave(subject, sequence) ?? null
    if (next !== null) this.#allow(next)
  }

  /** Lets a waiting delivery become due, where its row is durable, it is not in flight, and it is first of its issuer. */
  #allow(sequence: number): void {
    if (!this.#unwritten.has(sequence) && !this.#isInFlight(sequence)) this.retryAt(sequence, 0)
  }

  #orderByIssuer(readTo: number, others: Iterable<Matched>): void {
    this.#order = new IssuerOrder()
    const unfinished = new Map<number, string>()
    for (const [sequence, { subject }] of this.#rows) {
      if (sequence > readTo && !this.#isInFlight(sequence)) this.#unread.push(sequence)
      else unfinished.set(sequence, subject)
    }
    this.#unread.sort((one, other) => one - other)
    for (const { sequence, subject } of others) unfinished.set(sequence, subject)
    for (const [sequence, subject] of [...unfinished].sort(([one], [other]) => one - other)) {
      this.#order.enter(subject, sequence)
    }
  }
}

function earlier<D extends { sequence: number; dueMs: number }>(one: D | null, other: D): D {
  if (one === null || other.dueMs < one.dueMs) return other
  return other.dueMs === one.dueMs && other.sequence < one.sequence ? other : one
}
