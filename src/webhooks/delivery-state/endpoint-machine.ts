/**
 * Runs the deliveries of one endpoint as a state machine: decides what is sent next, what follows an attempt, and which
 * rows must be written. It performs no I/O: time, random numbers and the news that rows are durable are arguments.
 *
 * A slot, one of the `maxConcurrency` deliveries that may be in flight, is free again only when the outcome that ended
 * in it is durable. A crash therefore repeats at most `maxConcurrency` deliveries.
 */
import type { AttemptEnd } from '../../core/attempt-end.ts'
import type { Change } from '../../log/tables.ts'
import { type DeathCause, type DeliveryRow, type RetryRow, retryKey } from './delivery-rows.ts'
import { Backlog, MOST_WAITING } from './endpoint-backlog.ts'
import { EndpointCursors } from './endpoint-cursors.ts'
import { DeadDeliveries } from './endpoint-dead.ts'
import type { AttemptStart, Batch, DisableReason, Loaded, MachineConfig, Matched } from './endpoint-state.ts'
import { type DeliveryDecision, verdictOn, waitAfter } from './outcome.ts'
import { nextSort, type Sort } from './scheduling-policy.ts'
import { SendPace } from './send-pace.ts'

/** How long an endpoint may fail without one success before it is disabled. */
export const FAILING_LIMIT_MS = 5 * 24 * 3_600_000
/** Most matching events read behind the position; with more, reading waits. Bounds the size of the position row. */
const MAX_READ_AHEAD = 256
/** Events read and not yet sent, for each slot: one in flight and one next. */
const QUEUED_PER_SLOT = 2

const UNTRIED = { tries: 0 }

interface InFlight {
  delivery: Matched
  tries: number
  /** How many of these tries followed a Retry-After. */
  asked: number
  sort: Sort
}

/** A delivery whose attempt ended; it becomes durable with the next batch. */
interface Outcome {
  sequence: number
  subject: string
  /** `kept`: a retry row holds it. `done`: delivered or dead. */
  as: 'kept' | 'done'
  holdsSlot: boolean
  changes: readonly Change<DeliveryRow>[]
}

/** The deliveries of one endpoint. */
export class EndpointMachine {
  /** The cursor over new events, and the replays. Read only while `room` or `replayRoom` is positive. */
  readonly cursors: EndpointCursors<Matched>
  readonly #endpointId: string
  readonly #pace: SendPace
  readonly #dead: DeadDeliveries
  readonly #backlog: Backlog
  /** New events that were read and not sent yet. */
  readonly #queue: Matched[] = []
  readonly #inFlight = new Map<number, InFlight>()
  #outcomes: Outcome[] = []
  #config: MachineConfig
  #failingSinceMs: number | null
  #disableReason: DisableReason | null = null

  /** Continues from the rows that were left. */
  constructor(endpointId: string, loaded: Loaded, config: MachineConfig) {
    this.#endpointId = endpointId
    this.#config = config
    this.#failingSinceMs = loaded.failingSinceMs
    this.#pace = new SendPace(loaded.failingSinceMs !== null)
    this.#pace.configure(config)
    this.#dead = new DeadDeliveries(endpointId, loaded.dead)
    this.cursors = new EndpointCursors<Matched>(endpointId, loaded, (after, until) =>
      this.#dead.in(after, until),
    )
    this.#backlog = new Backlog(loaded.retries, (sequence) => this.#inFlight.has(sequence))
    this.#applyOrder()
  }

  /** Why the endpoint must be disabled; nothing is sent until `configure` reports it inactive, or active again. */
  get disableReason(): DisableReason | null {
    return this.#disableReason
  }

  /** Since when no attempt succeeded, ms since 1970; null while the last one did. */
  get failingSinceMs(): number | null {
    return this.#failingSinceMs
  }

  /** Sequences of dead deliveries after `after`, up to `until`, rising. */
  deadIn(after: number, until: number): readonly number[] {
    return this.#dead.in(after, until)
  }

  /** How many deliveries wait for a retry, or for an earlier one of their issuer. */
  get waiting(): number {
    return this.#backlog.size
  }

  /** How many are dead. */
  get deadCount(): number {
    return this.#dead.size
  }

  /** Forgets the dead deliveries up to that sequence; returns the keys of their rows, which are to be deleted. */
  forgetDead(until: number): string[] {
    return this.#dead.in(0, until).flatMap((sequence) => this.#dead.revived(sequence).map(({ key }) => key))
  }

  /** Applies changed settings. */
  configure(next: MachineConfig): void {
    const before = this.#config
    this.#config = next
    this.#pace.configure(next)
    if (next.order !== before.order) this.#applyOrder()
    if (next.isActive && before.isActive) return
    // Re-enabling declares the endpoint healthy: due deliveries start at once, earlier failures no longer count.
    this.#disableReason = null
    this.#setFailingSince(null)
    this.#pace.succeeded()
  }

  /** How many new events can be offered now. */
  room(): number {
    return this.#roomFor(this.#queue.length, this.cursors.live.progress.size)
  }

  /** How many replayed events can be offered now; 0 where no replay runs. */
  replayRoom(): number {
    const { replay } = this.cursors
    return replay === null ? 0 : this.#roomFor(this.cursors.replayed().length, replay.progress.size)
  }

  /** Takes a matching event; events come in rising order. One that was decided or waits already is skipped. */
  offer(delivery: Matched, nowMs: number): void {
    const { sequence } = delivery
    const { progress } = this.cursors.live
    if (sequence <= progress.readTo || !progress.seen(sequence)) return
    const isKept = this.#backlog.row(sequence) !== undefined
    this.#backlog.passedTo(sequence)
    if (isKept) return progress.kept(sequence)
    this.#backlog.enter(delivery)
    if (this.#backlog.isFirst(delivery)) this.#queue.push(delivery)
    else this.#keep(delivery, { tries: 0, dueMs: nowMs, lastStatus: null }, false)
  }

  /** Everything up to `sequence` is read; what was not offered does not match. */
  passedTo(sequence: number): void {
    this.cursors.live.progress.passedTo(sequence)
    this.#backlog.passedTo(sequence)
  }

  /**
   * Takes a matching event of the current replay; events come in rising order, none beyond what the live cursor has read. One
   * that is in flight or queued anyway is skipped.
   */
  offerReplayed(delivery: Matched): void {
    const { sequence } = delivery
    if (this.#backlog.row(sequence) !== undefined) return this.cursors.replayKept(sequence)
    if (this.#inFlight.has(sequence) || this.#queue.some((queued) => queued.sequence === sequence)) return
    if (this.cursors.replaySeen(delivery)) this.#backlog.enter(delivery)
  }

  /** Takes a slot for the next delivery; null: nothing before `wakeAtMs`, or before something in flight ends. */
  next(nowMs: number): AttemptStart | null {
    if (!this.#config.isActive || this.#disableReason !== null) return null
    if (!this.#pace.hasSlot(this.#inFlight.size, nowMs)) return null
    this.#keepBlocked(nowMs)
    const due = this.#backlog.first()
    const [first] = this.#queue
    const replayed = this.#firstReplayed()
    const sort = nextSort({
      slots: this.#pace.slots,
      behind: this.#slotsOfRetries(),
      firstWaits: first !== undefined,
      retryWaits: due !== null && due.dueMs <= nowMs,
      replayWaits: replayed !== undefined,
      ...this.#pace.turns,
    })
    if (sort === null || !this.#pace.takeToken(nowMs)) return null
    if (sort === 'first' && first !== undefined) {
      this.#queue.shift()
      return this.#begin(first, UNTRIED, sort)
    }
    if (sort === 'replay' && replayed !== undefined) {
      this.cursors.replayTaken(replayed.sequence)
      return this.#begin(replayed, UNTRIED, sort)
    }
    const row = due === null ? undefined : this.#backlog.row(due.sequence)
    if (due === null || row === undefined) return null
    this.#backlog.take(due.sequence)
    const { eventId, subject, cursor, recordedMs } = row
    return this.#begin({ sequence: due.sequence, eventId, subject, cursor, recordedMs }, row, sort)
  }

  /** When `next` may have something, ms since 1970; null: not before something ends or is offered. */
  wakeAtMs(): number | null {
    if (!this.#config.isActive || this.#disableReason !== null) return null
    if (this.#inFlight.size >= this.#pace.slots) return null
    const isReady = this.#queue.length > 0 || this.#firstReplayed() !== undefined
    const readyMs = isReady ? 0 : (this.#backlog.first()?.dueMs ?? null)
    return readyMs === null ? null : Math.max(readyMs, this.#pace.readyAtMs)
  }

  /**
   * An attempt ended. Returns what happens to the delivery; null where nothing of that sequence is in flight. Its slot stays
   * taken until the batch with its outcome is durable. `chance` is a number in [0, 1).
   */
  ended(
    sequence: number,
    end: AttemptEnd,
    { nowMs, chance }: { nowMs: number; chance: number },
  ): DeliveryDecision | null {
    const found = this.#inFlight.get(sequence)
    if (found === undefined) return null
    const { delivery, asked } = found
    const tries = found.tries + 1
    const lastStatus = end.kind === 'answered' ? end.status : null
    const verdict = verdictOn(end, { tries, asked, nowMs, chance })
    if (verdict.next === 'delivered') {
      this.#pace.succeeded()
      this.#setFailingSince(null)
      this.#finish(delivery, this.#dead.revived(sequence))
      return verdict
    }
    this.#pace.failed(nowMs, chance)
    const failingSinceMs = this.#failingSinceMs ?? nowMs
    this.#setFailingSince(failingSinceMs)
    if (verdict.next === 'dead') this.#die(delivery, tries, lastStatus, 'tries', nowMs)
    else this.#keep(delivery, { tries, lastStatus, ...waitAfter(verdict, { asked, nowMs }) }, true)
    if (verdict.next === 'disable') this.#disableReason = 'gone'
    else if (nowMs - failingSinceMs >= FAILING_LIMIT_MS) this.#disableReason ??= 'failing'
    return verdict
  }

  /** The body was not available yet: the delivery is due again at `againMs`, and its slot is free. */
  notSent(sequence: number, againMs: number): void {
    const found = this.#inFlight.get(sequence)
    if (found === undefined) return
    this.#inFlight.delete(sequence)
    if (this.#backlog.row(sequence) !== undefined) this.#backlog.retryAt(sequence, againMs)
    else this.#keep(found.delivery, { tries: 0, dueMs: againMs, lastStatus: null }, false)
  }

  /** The log no longer keeps the event: its delivery is dead. */
  dropped(sequence: number, nowMs: number): void {
    const found = this.#inFlight.get(sequence)
    if (found === undefined) return
    const lastStatus = this.#backlog.row(sequence)?.lastStatus ?? null
    this.#die(found.delivery, found.tries, lastStatus, 'dropped', nowMs)
  }

  /** True where rows are pending that must be written. */
  hasPendingRows(): boolean {
    return this.#outcomes.length > 0 || this.cursors.hasPendingRows()
  }

  /**
   * Takes the pending rows; null where there are none. `flush`: also positions that merely moved. `cursorAt` gives the log's
   * cursor of a sequence. Must not be called again before the batch is settled.
   */
  take(cursorAt: (sequence: number) => string, flush: boolean): Batch | null {
    const taken = this.#outcomes
    this.#outcomes = []
    const changes = taken.flatMap((outcome) => outcome.changes)
    const positions = this.cursors.take({ cursorAt, failingSinceMs: this.#failingSinceMs, flush })
    if (taken.length + positions.changes.length === 0) return null
    const puts = changes.filter(({ value }) => value !== null)
    const removals = changes.filter(({ value }) => value === null)
    return {
      changes: [...puts, ...positions.changes, ...removals],
      settled: () => {
        positions.settled()
        for (const outcome of taken) this.#settle(outcome)
      },
    }
  }

  /** Deliveries known and not finished, and when the oldest of them was recorded, ms since 1970. */
  figures(): { pending: number; oldestMs: number | null } {
    let { size: pending, oldestMs } = this.#backlog
    const count = ({ recordedMs }: Matched): void => {
      pending += 1
      oldestMs = Math.min(oldestMs ?? recordedMs, recordedMs)
    }
    for (const delivery of this.#queue) count(delivery)
    for (const delivery of this.cursors.replayed()) count(delivery)
    for (const [sequence, { delivery }] of this.#inFlight) {
      if (this.#backlog.row(sequence) === undefined) count(delivery)
    }
    return { pending, oldestMs }
  }

  #begin(
    delivery: Matched,
    { tries, asked = 0 }: Pick<RetryRow, 'tries' | 'asked'>,
    sort: Sort,
  ): AttemptStart {
    this.#pace.started(sort)
    this.#inFlight.set(delivery.sequence, { delivery, tries, asked, sort })
    return { delivery, attempt: tries + 1, sort }
  }

  /** Keeps the delivery as a retry row. */
  #keep(
    delivery: Matched,
    row: Pick<RetryRow, 'tries' | 'asked' | 'dueMs' | 'lastStatus'>,
    holdsSlot: boolean,
  ): void {
    const { sequence, ...rest } = delivery
    const value: RetryRow = { kind: 'retry', ...rest, ...row }
    this.#backlog.put(sequence, value)
    const changes = [{ key: retryKey(this.#endpointId, sequence), value }, ...this.#dead.revived(sequence)]
    this.#outcomes.push({ sequence, subject: delivery.subject, as: 'kept', holdsSlot, changes })
  }

  #finish({ sequence, subject }: Matched, changes: readonly Change<DeliveryRow>[]): void {
    this.cursors.done(sequence)
    const isKept = this.#backlog.row(sequence) !== undefined
    const removal = isKept ? [{ key: retryKey(this.#endpointId, sequence), value: null }] : []
    this.#outcomes.push({
      sequence,
      subject,
      as: 'done',
      holdsSlot: true,
      changes: [...changes, ...removal],
    })
  }

  #die(delivery: Matched, tries: number, lastStatus: number | null, cause: DeathCause, nowMs: number): void {
    const { sequence, cursor, eventId } = delivery
    const row = { cursor, eventId, tries, lastStatus, cause, diedAtMs: nowMs }
    this.#finish(delivery, this.#dead.add(sequence, row))
  }

  /** The rows of the outcome are durable. */
  #settle({ sequence, subject, as, holdsSlot }: Outcome): void {
    if (holdsSlot) this.#inFlight.delete(sequence)
    if (as === 'kept') {
      this.cursors.kept(sequence)
      this.#backlog.written(sequence)
    } else this.#backlog.finished(subject, sequence)
  }

  #setFailingSince(sinceMs: number | null): void {
    if (sinceMs === this.#failingSinceMs) return
    this.#failingSinceMs = sinceMs
    this.cursors.live.mustWrite = true
  }

  #slotsOfRetries(): number {
    let count = 0
    for (const { sort } of this.#inFlight.values()) if (sort !== 'first') count += 1
    return count
  }

  /** The first replayed event that is first of its issuer. */
  #firstReplayed(): Matched | undefined {
    return this.cursors.replayed().find((delivery) => this.#backlog.isFirst(delivery))
  }

  /** Moves queued events whose issuer has an earlier unfinished one from the head of the queue to retry rows. */
  #keepBlocked(nowMs: number): void {
    for (let [head] = this.#queue; head !== undefined; [head] = this.#queue) {
      if (this.#backlog.isFirst(head)) return
      this.#queue.shift()
      this.#keep(head, { tries: 0, dueMs: nowMs, lastStatus: null }, false)
    }
  }

  /** Room left: any event without a row may need one, and together with those that wait they are at most `MOST_WAITING`. */
  #roomFor(queued: number, readAhead: number): number {
    let withoutRow = this.#queue.length + this.cursors.replayed().length
    for (const sequence of this.#inFlight.keys()) {
      if (this.#backlog.row(sequence) === undefined) withoutRow += 1
    }
    return Math.min(
      QUEUED_PER_SLOT * this.#config.maxConcurrency - queued,
      MOST_WAITING - this.#backlog.readSize - withoutRow,
      MAX_READ_AHEAD - readAhead,
    )
  }

  /** Starts the configured order anew, from what is unfinished. */
  #applyOrder(): void {
    const inFlight = [...this.#inFlight.values()].map(({ delivery }) => delivery)
    const others = [...inFlight, ...this.#queue, ...this.cursors.replayed()]
    this.#backlog.setOrder(this.#config.order, this.cursors.live.progress.readTo, others)
  }
}
