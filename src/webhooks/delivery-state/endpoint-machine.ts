/**
 * Runs the deliveries of one endpoint as a state machine: decides what is sent next, what follows an attempt, and which
 * rows must be written. It performs no I/O: time, random numbers and the news that rows are durable are arguments.
 *
 * A slot, one of the `maxConcurrency` requests that may be in flight, is free again only when the outcomes that ended in
 * it are durable. A crash therefore repeats at most `maxConcurrency` requests.
 */
import type { AttemptEnd } from '../../core/attempt-end.ts'
import type { Change } from '../../log/tables.ts'
import { type DeathCause, type DeliveryRow, type KeptTries, retryKey } from './delivery-rows.ts'
import { Backlog, MOST_WAITING } from './endpoint-backlog.ts'
import { EndpointCondition } from './endpoint-condition.ts'
import { concerns, EndpointCursors, type ReplayStart } from './endpoint-cursors.ts'
import { DeadDeliveries } from './endpoint-dead.ts'
import type {
  AttemptStart,
  Batch,
  DisableReason,
  EndContext,
  Loaded,
  MachineConfig,
  Matched,
  PendingOutcome,
} from './endpoint-state.ts'
import type { EndpointTrouble } from './endpoint-trouble.ts'
import { EventQueue, type QueueRules } from './event-queue.ts'
import { type RequestInFlight, RequestsInFlight } from './in-flight.ts'
import { type DeliveryDecision, isTriedTogether, verdictOn, waitAfter } from './outcome.ts'
import { nextSort, type Sort } from './scheduling-policy.ts'

/** Most matching events read behind the position; with more, reading waits. Bounds the size of the position row. */
const MAX_READ_AHEAD = 256
/** Events read and not yet sent, for each slot: one in flight and one next. */
const QUEUED_PER_SLOT = 2

/** The deliveries of one endpoint. */
export class EndpointMachine {
  /** The cursor over new events, and the replays. Read only while `room` or `replayRoom` is positive. */
  readonly cursors: EndpointCursors<Matched>
  /** The deliveries that were given up. */
  readonly dead: DeadDeliveries
  readonly #endpointId: string
  readonly #condition: EndpointCondition
  readonly #backlog: Backlog
  /** New events that were read and not sent yet. */
  readonly #queue = new EventQueue()
  readonly #inFlight = new RequestsInFlight()
  #outcomes: PendingOutcome[] = []
  #config: MachineConfig
  /** How often the endpoint was made active or led elsewhere: attempts from before say nothing of it. */
  #repairs = 0
  #disableReason: DisableReason | null = null

  /** Continues from the rows that were left. */
  constructor(endpointId: string, loaded: Loaded, config: MachineConfig) {
    this.#endpointId = endpointId
    this.#config = config
    this.#condition = new EndpointCondition(loaded)
    this.#condition.pace.configure(config)
    this.dead = new DeadDeliveries(endpointId, loaded)
    this.cursors = new EndpointCursors<Matched>(endpointId, loaded, this.dead, (unsent) =>
      this.#backlog.finished(unsent.subject, unsent.sequence),
    )
    this.#backlog = new Backlog(loaded.retries, (sequence) => this.#inFlight.has(sequence))
    this.#applyOrder()
  }

  /** Why the endpoint must be disabled; nothing is sent until `configure` reports it inactive, or active again. */
  get disableReason(): DisableReason | null {
    return this.#disableReason
  }

  /** What the owner is to be notified of. */
  get trouble(): EndpointTrouble {
    return this.#condition.trouble
  }

  /** Since when no attempt succeeded, ms since 1970; null while the last one did. */
  get failingSinceMs(): number | null {
    return this.#condition.failingSinceMs
  }

  /** How many deliveries wait for a retry, or for an earlier one of their issuer. */
  get waiting(): number {
    return this.#backlog.size
  }

  /** Applies changed settings. */
  configure(next: MachineConfig): void {
    const before = this.#config
    this.#config = next
    this.#condition.pace.configure(next)
    if (next.order !== before.order) this.#applyOrder()
    if (next.isActive && before.isActive && next.target === before.target) return
    // Its record begins anew. Where it is enabled, or has another target, failures of what was sent before count for nothing.
    this.#disableReason = null
    this.#condition.repaired()
    if (next.isActive || next.target !== before.target) this.#repairs += 1
  }

  /**
   * The owner wants another try now: waiting deliveries (those of a replay, or null: all) become due, at once or as soon as that
   * may be again, and no Retry-After holds them then. Returns the keys of the rows that must be written first.
   */
  hasten(among: Pick<ReplayStart, 'base' | 'until' | 'only'> | null, nowMs: number): string[] {
    const dueMs = this.#condition.pace.hasten(nowMs)
    const wanted = this.#backlog
      .later(dueMs)
      .filter(([sequence]) => among === null || concerns(among, sequence))
    for (const [sequence, { kind: _, ...row }] of wanted) {
      this.#keep({ sequence, ...row }, { ...row, dueMs, setMs: nowMs }, false)
    }
    return wanted.map(([sequence]) => retryKey(this.#endpointId, sequence))
  }

  /** How many new events can be offered now. */
  room(): number {
    return this.#roomFor(this.#queue.size, this.cursors.live.progress.size)
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
    const beside = this.#config.maxBatch === null ? undefined : this.#queue
    if (this.#backlog.isFirst(delivery, beside)) this.#queue.push(delivery)
    else this.#keep(delivery, { tries: 0, dueMs: nowMs, setMs: nowMs, lastStatus: null }, false)
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
    if (this.#inFlight.has(sequence) || this.#queue.has(sequence)) return
    if (this.cursors.replaySeen(delivery)) this.#backlog.enter(delivery)
  }

  /** Takes a slot for the next request; null: nothing before `wakeAtMs`, or before something in flight ends. */
  next(nowMs: number): AttemptStart | null {
    const { pace } = this.#condition
    if (!this.#config.isActive || this.#disableReason !== null) return null
    this.#backlog.heedClock(nowMs)
    if (!pace.hasSlot(this.#inFlight.slots, nowMs)) return null
    const rules = this.#queueRules(nowMs)
    const due = this.#backlog.first()
    const sort = nextSort({
      slots: pace.slots,
      behind: this.#inFlight.slotsBehind,
      firstWaits: this.#queue.first(rules) !== undefined,
      retryWaits: due !== null && due.dueMs <= nowMs,
      replayWaits: this.#firstReplayed() !== undefined,
      ...pace.turns,
    })
    if (sort === null || !pace.takeToken(nowMs)) return null
    const most = this.#mostTogether
    if (sort === 'first') return this.#begin(this.#queue.take(most, rules), sort)
    if (sort === 'replay') return this.#begin(this.cursors.takeReplayed(most, rules.isFirst), sort)
    if (due === null) return null
    const { row, deliveries } = this.#backlog.takeTogether(due.sequence, most, nowMs)
    return this.#begin(deliveries, sort, row)
  }

  /** When `next` may have something, ms since 1970; null: not before something ends or is offered. */
  wakeAtMs(): number | null {
    if (!this.#config.isActive || this.#disableReason !== null) return null
    if (this.#inFlight.slots >= this.#condition.pace.slots) return null
    const isReady = this.#queue.size > 0 || this.#firstReplayed() !== undefined
    const readyMs = isReady ? 0 : (this.#backlog.first()?.dueMs ?? null)
    return readyMs === null ? null : Math.max(readyMs, this.#condition.pace.readyAtMs)
  }

  /**
   * An attempt ended, that of the request with the delivery of that sequence. Returns what happens to its deliveries; null where
   * that one is not in flight. Its slot stays taken until the rows of its outcomes are durable. A failure of an endpoint that
   * was repaired since counts for nothing: the deliveries are due at once.
   */
  ended(sequence: number, end: AttemptEnd, context: EndContext): DeliveryDecision | null {
    const sent = this.#inFlight.get(sequence)
    if (sent === undefined) return null
    const { nowMs, chance } = context
    const isOfNow = sent.repairs === this.#repairs
    const tries = sent.tries + 1
    const lastStatus = end.kind === 'answered' ? end.status : null
    const verdict = verdictOn(end, { tries, asked: sent.asked, nowMs, chance })
    if (verdict.next === 'delivered') {
      if (isOfNow) this.#condition.succeeded(nowMs)
      for (const one of sent.deliveries.values()) this.#finish(one, this.dead.revived(one.sequence))
      return verdict
    }
    if (!isOfNow) {
      const again = { next: 'retry', delayMs: 0, asked: sent.asked } as const
      this.#keepTogether(sent, { tries: sent.tries, lastStatus, ...waitAfter(again, { ...again, nowMs }) })
      return again
    }
    if (this.#config.isActive) this.#condition.failed(end, { sequence, isFirst: sent.tries === 0 }, context)
    if (verdict.next === 'dead') {
      for (const one of sent.deliveries.values()) this.#die(one, tries, lastStatus, 'tries', nowMs)
    } else
      this.#keepTogether(sent, { tries, lastStatus, ...waitAfter(verdict, { asked: sent.asked, nowMs }) })
    if (verdict.next === 'disable' && this.#config.isActive) this.#disableReason = 'gone'
    else if (this.#condition.isTooLong(nowMs)) this.#disableReason ??= 'failing'
    if (this.#disableReason !== null) this.trouble.disabled(nowMs)
    return verdict
  }

  /**
   * Of the request with the delivery of that sequence only the first `count` deliveries were sent: the others are due again
   * after `delayMs`. With 0 nothing was sent, and its slot is free.
   */
  sentOnly(sequence: number, count: number, nowMs: number, delayMs = 0): void {
    const deliveries = [...(this.#inFlight.get(sequence)?.deliveries.values() ?? [])]
    for (const one of deliveries.slice(count)) this.#release(one, nowMs, delayMs)
  }

  /** The log no longer keeps these events of a request: their deliveries are dead. Nothing was sent of the others. */
  dropped(sequence: number, gone: readonly number[], nowMs: number): void {
    const { deliveries, tries = 0 } = this.#inFlight.get(sequence) ?? {}
    for (const one of [...(deliveries?.values() ?? [])]) {
      const lastStatus = this.#backlog.row(one.sequence)?.lastStatus ?? null
      if (gone.includes(one.sequence)) this.#die(one, tries, lastStatus, 'dropped', nowMs)
      else this.#release(one, nowMs)
    }
  }

  /** True where rows are pending that must be written. */
  hasPendingRows(): boolean {
    return this.#outcomes.length > 0 || this.#isChanged || this.cursors.hasPendingRows()
  }

  /**
   * Takes the pending rows; null where there are none. `flush`: also positions that merely moved. `cursorAt` gives the log's
   * cursor of a sequence. Must not be called again before the batch is settled.
   */
  take(cursorAt: (sequence: number) => string, flush: boolean): Batch | null {
    const taken = this.#outcomes
    this.#outcomes = []
    const changes = taken.flatMap((outcome) => outcome.changes)
    if (this.#isChanged) this.cursors.live.mustWrite = true
    const condition = { ...this.#condition.take(), ...this.dead.take() }
    const positions = this.cursors.take({ cursorAt, condition, flush })
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
    for (const delivery of this.#queue.values()) count(delivery)
    for (const delivery of this.cursors.replayed()) count(delivery)
    for (const delivery of this.#inFlight.deliveries()) {
      if (this.#backlog.row(delivery.sequence) === undefined) count(delivery)
    }
    return { pending, oldestMs }
  }

  /** Whether the delivery of that event waits, is queued or is in flight. */
  isUnfinished(sequence: number): boolean {
    const isKept = this.#backlog.row(sequence) !== undefined || this.#inFlight.has(sequence)
    return (
      isKept || [...this.#queue.values(), ...this.cursors.replayed()].some((one) => one.sequence === sequence)
    )
  }

  get #isChanged(): boolean {
    return this.#condition.isChanged || this.dead.isChanged
  }

  /** Most events of the next request; a probe has one, so that no event that is refused can hide that somebody is there. */
  get #mostTogether(): number {
    return this.#condition.pace.isProbing ? 1 : (this.#config.maxBatch ?? 1)
  }

  #queueRules(nowMs: number): QueueRules {
    return {
      isFirst: (one, taken) => this.#backlog.isFirst(one, taken),
      setAside: (one) => this.#keep(one, { tries: 0, dueMs: nowMs, setMs: nowMs, lastStatus: null }, false),
    }
  }

  #begin(
    deliveries: readonly Matched[],
    sort: Sort,
    row: Pick<KeptTries, 'tries' | 'asked'> = { tries: 0 },
  ): AttemptStart | null {
    const [delivery, ...others] = deliveries
    if (delivery === undefined) return null
    this.#condition.pace.started(sort)
    this.#inFlight.add(deliveries, row, { sort, repairs: this.#repairs })
    return { delivery, ...(others.length > 0 && { others }), attempt: row.tries + 1, sort }
  }

  /** Nothing was sent of a delivery in flight: it is due again after that delay. */
  #release(delivery: Matched, nowMs: number, delayMs = 0): void {
    const { sequence } = delivery
    this.#inFlight.delete(sequence)
    if (this.#backlog.row(sequence) !== undefined) this.#backlog.retryAt(sequence, nowMs + delayMs)
    else this.#keep(delivery, { tries: 0, dueMs: nowMs + delayMs, setMs: nowMs, lastStatus: null }, false)
  }

  /** Keeps the deliveries of a request as retry rows; a batch names itself in them as long as it is tried again as a whole. */
  #keepTogether({ deliveries }: RequestInFlight, row: KeptTries): void {
    const [batch = 0] = deliveries.keys()
    const isBatch = deliveries.size > 1 && isTriedTogether(row)
    for (const one of deliveries.values()) this.#keep(one, { ...row, ...(isBatch && { batch }) }, true)
  }

  /** Keeps the delivery as a retry row. */
  #keep(delivery: Matched, row: KeptTries, holdsSlot: boolean): void {
    const { sequence, eventId, subject, cursor, recordedMs } = delivery
    const value = { kind: 'retry', eventId, subject, cursor, recordedMs, ...row } as const
    this.#backlog.put(sequence, value)
    const changes = [{ key: retryKey(this.#endpointId, sequence), value }, ...this.dead.revived(sequence)]
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
    this.trouble.died(nowMs, this.failingSinceMs)
    const row = { cursor, eventId, tries, lastStatus, cause, diedAtMs: nowMs }
    this.#finish(delivery, this.dead.add(sequence, row))
  }

  /** The rows of the outcome are durable. */
  #settle({ sequence, subject, as, holdsSlot }: PendingOutcome): void {
    if (holdsSlot) this.#inFlight.delete(sequence)
    if (as === 'kept') {
      this.cursors.kept(sequence)
      this.#backlog.written(sequence)
    } else this.#backlog.finished(subject, sequence)
  }

  /** The first replayed event that is first of its issuer. */
  #firstReplayed(): Matched | undefined {
    return this.cursors.replayed().find((delivery) => this.#backlog.isFirst(delivery))
  }

  /** Room left: any event without a row may need one, and together with those that wait they are at most `MOST_WAITING`. */
  #roomFor(queued: number, readAhead: number): number {
    let withoutRow = this.#queue.size + this.cursors.replayed().length
    for (const { sequence } of this.#inFlight.deliveries()) {
      if (this.#backlog.row(sequence) === undefined) withoutRow += 1
    }
    return Math.min(
      QUEUED_PER_SLOT * this.#config.maxConcurrency * (this.#config.maxBatch ?? 1) - queued,
      MOST_WAITING - this.#backlog.readSize - withoutRow,
      MAX_READ_AHEAD - readAhead,
    )
  }

  /** Starts the configured order anew, from what is unfinished. */
  #applyOrder(): void {
    const others = [...this.#inFlight.deliveries(), ...this.#queue.values(), ...this.cursors.replayed()]
    this.#backlog.setOrder(this.#config.order, this.cursors.live.progress.readTo, others)
  }
}
