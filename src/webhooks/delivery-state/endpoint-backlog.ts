/**
 * Holds the deliveries of an endpoint that wait as rows, and with `order: issuer` lets only the first unfinished event of an
 * issuer become due.
 */
import type { RetryRow } from './delivery-rows.ts'
import type { Matched } from './endpoint-state.ts'
import { createWaiting, type Waiting } from './endpoint-waiting.ts'
import { createIssuerOrder, type IssuerOrder, NO_ORDER } from './issuer-order.ts'

/** The waiting deliveries of one endpoint. Moments are ms since 1970. */
export class Backlog {
  readonly #waiting: Waiting = createWaiting()
  /** Waiting deliveries whose row is not durable yet. */
  readonly #unwritten = new Set<number>()
  readonly #isInFlight: (sequence: number) => boolean
  /**
   * With `order: issuer`: waiting events behind the cursor's read position, rising. An earlier owner of the shard had read
   * them; events of the same issuer before them may still have to be read.
   */
  #unread: number[] = []
  #order: IssuerOrder = NO_ORDER

  constructor(retries: ReadonlyMap<number, RetryRow>, isInFlight: (sequence: number) => boolean) {
    this.#isInFlight = isInFlight
    for (const [sequence, row] of retries) this.#waiting.put(sequence, row)
  }

  /** How many wait. */
  get size(): number {
    return this.#waiting.size
  }

  /** How many wait, without those behind the read position. */
  get readSize(): number {
    return this.#waiting.size - this.#unread.length
  }

  /** When the oldest of them was recorded; null where none waits. */
  get oldestMs(): number | null {
    return this.#waiting.oldestMs
  }

  /** The row of a waiting delivery. */
  row(sequence: number): RetryRow | undefined {
    return this.#waiting.get(sequence)
  }

  /** The delivery that is due first, and when. */
  first(): { sequence: number; dueMs: number } | null {
    return this.#waiting.first()
  }

  /** Starts the order anew. `others`: unfinished events that do not wait as rows. `readTo`: the cursor's read position. */
  setOrder(order: 'none' | 'issuer', readTo: number, others: Iterable<Matched>): void {
    this.#unread = []
    this.#order = NO_ORDER
    if (order === 'issuer') this.#orderByIssuer(readTo, others)
    for (const [sequence] of this.#waiting.entries()) {
      this.#waiting.disarm(sequence)
      this.#arm(sequence)
    }
  }

  /** Puts an event at the end of its issuer's line. */
  enter({ subject, sequence }: Matched): void {
    this.#order.enter(subject, sequence)
  }

  /** True where no unfinished event of its issuer comes before it. */
  isFirst({ subject, sequence }: Matched): boolean {
    return this.#order.isFirst(subject, sequence)
  }

  /** The cursor has read up to `readTo`: waiting events up to there enter the line of their issuer. */
  passedTo(readTo: number): void {
    for (let [next] = this.#unread; next !== undefined && next <= readTo; [next] = this.#unread) {
      this.#unread.shift()
      this.#order.enter(this.#waiting.get(next)?.subject ?? '', next)
      this.#arm(next)
    }
  }

  /** Adds or replaces a row; the delivery is not due before the row is `written`. */
  put(sequence: number, row: RetryRow): void {
    this.#waiting.put(sequence, row)
    this.#unwritten.add(sequence)
  }

  /** The row is durable, and the delivery is not in flight any more. */
  written(sequence: number): void {
    this.#unwritten.delete(sequence)
    this.#arm(sequence)
  }

  /** The delivery is sent now: it is not due until its row is written again. */
  take(sequence: number): void {
    this.#waiting.disarm(sequence)
  }

  /** The delivery was not sent: it is due again, not before `atMs`. */
  retryAt(sequence: number, atMs: number): void {
    this.#waiting.arm(sequence, atMs)
  }

  /** The delivery is finished, durably: the next of its issuer may become due. */
  finished(subject: string, sequence: number): void {
    this.#waiting.remove(sequence)
    const next = this.#order.leave(subject, sequence)
    if (next !== null) this.#arm(next)
  }

  /** Lets a waiting delivery become due, where its row is durable, it is not in flight, and it is first of its issuer. */
  #arm(sequence: number): void {
    const row = this.#waiting.get(sequence)
    if (row === undefined || this.#unwritten.has(sequence) || this.#isInFlight(sequence)) return
    if (this.#order.isFirst(row.subject, sequence)) this.#waiting.arm(sequence)
  }

  #orderByIssuer(readTo: number, others: Iterable<Matched>): void {
    this.#order = createIssuerOrder()
    const unfinished = new Map<number, string>()
    for (const [sequence, { subject }] of this.#waiting.entries()) {
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
