/**
 * The deliveries of one endpoint: which is sent next, what an attempt's end leads to, which rows have to be written. Owns the
 * rules of contract §7 for one endpoint; time, chance and what is durable are arguments. Refuses to send, to read events, to
 * write rows and to hold bodies.
 *
 * A slot is free again when the outcome that ended in it is durable; so a crash repeats at most `maxConcurrency` deliveries.
 */
import type { Change } from '../../log/log.ts'
import { type DeathCause, type DeliveryRow, type RetryRow, retryKey } from './delivery-rows.ts'
import { createBreaker } from './endpoint-breaker.ts'
import { createCursors } from './endpoint-cursors.ts'
import { createDeadDeliveries } from './endpoint-dead.ts'
import type { Batch, DisableReason, Loaded, MachineConfig, Matched, Start } from './endpoint-state.ts'
import { createWaiting, MOST_WAITING } from './endpoint-waiting.ts'
import { createIssuerOrder, type IssuerOrder, NO_ORDER } from './issuer-order.ts'
import { type AttemptEnd, type Verdict, verdictOn, waitAfter } from './outcome.ts'
import { createRateLimit, type RateLimit } from './rate-limit.ts'
import { nextSort, type Sort } from './scheduling-policy.ts'

/** How long an endpoint may fail without one success before it is disabled. */
export const FAILING_LIMIT_MS = 5 * 24 * 3_600_000
/** Most matching events read behind the position; then the cursor waits for what keeps it. Bounds the position's row. */
const MOST_BEHIND = 256
/** Events read and not yet sent: for each slot one that is sent and one that is next. */
const QUEUED_PER_SLOT = 2
/** Turns of first tries before a retry has the only slot; while only probes leave, they alternate. */
const FIRSTS_BEFORE_RETRY = 3

const UNTRIED = { tries: 0 }

/** Machine of one endpoint. */
export type EndpointMachine = ReturnType<typeof createEndpointMachine>

interface Flight {
  delivery: Matched
  tries: number
  /** Of these, those that a Retry-After followed. */
  asked: number
  sort: Sort
}

/** What ended, and is durable with the next batch. */
interface Outcome {
  sequence: number
  subject: string
  /** `kept`: a retry row has it. `done`: delivered or dead. */
  as: 'kept' | 'done'
  holdsSlot: boolean
  changes: readonly Change<DeliveryRow>[]
}

/** A machine that goes on from what was left. */
export function createEndpointMachine(endpointId: string, loaded: Loaded, settings: MachineConfig) {
  let config = settings
  let order: IssuerOrder = NO_ORDER
  let bucket: RateLimit | null = null
  /** When the token that was taken for the next delivery may be used; null: none is taken. */
  let tokenAtMs: number | null = null
  let { failingSinceMs } = loaded
  let disableReason: DisableReason | null = null
  let firstsInRow = 0
  const breaker = createBreaker(failingSinceMs !== null)
  const dead = createDeadDeliveries(endpointId, loaded.dead)
  const cursors = createCursors<Matched>(endpointId, loaded, dead.in)
  const waiting = createWaiting()
  const queue: Matched[] = []
  const flights = new Map<number, Flight>()
  /** Rows in `waiting` that are not durable yet. */
  const unwritten = new Set<number>()
  /**
   * With `order: issuer`, what waits behind the place up to which the cursor has read again, rising: what an owner before had
   * read and not decided may come before it.
   */
  let unread: number[] = []
  let outcomes: Outcome[] = []

  const inFlight = (): Matched[] => [...flights.values()].map(({ delivery }) => delivery)
  const isSent = (sequence: number): boolean => flights.has(sequence)
  const arm = (sequence: number | null): void => {
    const row = sequence === null ? undefined : waiting.get(sequence)
    if (sequence === null || row === undefined || unwritten.has(sequence) || isSent(sequence)) return
    if (order.isFirst(row.subject, sequence)) waiting.arm(sequence)
  }
  const behind = (): number => {
    let count = 0
    for (const { sort } of flights.values()) if (sort !== 'first') count += 1
    return count
  }
  const keep = (
    delivery: Matched,
    row: Pick<RetryRow, 'tries' | 'asked' | 'dueMs' | 'lastStatus'>,
    holdsSlot: boolean,
  ) => {
    const { sequence, ...rest } = delivery
    const retry: RetryRow = { kind: 'retry', ...rest, ...row }
    waiting.put(sequence, retry)
    unwritten.add(sequence)
    const changes = [{ key: retryKey(endpointId, sequence), value: retry }]
    outcomes.push({
      sequence,
      subject: delivery.subject,
      as: 'kept',
      holdsSlot,
      changes: [...changes, ...dead.revived(sequence)],
    })
  }
  const finish = (delivery: Matched, changes: readonly Change<DeliveryRow>[]): void => {
    const { sequence, subject } = delivery
    cursors.done(sequence)
    const gone =
      waiting.get(sequence) === undefined ? [] : [{ key: retryKey(endpointId, sequence), value: null }]
    outcomes.push({ sequence, subject, as: 'done', holdsSlot: true, changes: [...changes, ...gone] })
  }
  const die = (
    delivery: Matched,
    tries: number,
    lastStatus: number | null,
    cause: DeathCause,
    nowMs: number,
  ) => {
    const { sequence, cursor, eventId } = delivery
    finish(delivery, dead.add(sequence, { cursor, eventId, tries, lastStatus, cause, diedAtMs: nowMs }))
  }
  /** The first event of the replay that nothing of its issuer is before. */
  const firstReplayed = (): Matched | undefined =>
    cursors.replayed().find(({ subject, sequence }) => order.isFirst(subject, sequence))
  const failedSince = (sinceMs: number | null): void => {
    if (sinceMs === failingSinceMs) return
    failingSinceMs = sinceMs
    cursors.live.mustWrite = true
  }
  /** Those at the head of the queue whose issuer has an earlier one make room: they wait as rows. */
  const holdBlocked = (nowMs: number): void => {
    for (let head = queue[0]; head !== undefined; head = queue[0]) {
      if (order.isFirst(head.subject, head.sequence)) return
      queue.shift()
      keep(head, { tries: 0, dueMs: nowMs, lastStatus: null }, false)
    }
  }
  /** Every event that is not a row yet may become one: those that wait, and could come to, are `MOST_WAITING` at most. */
  const roomFor = (queued: number, behindPosition: number): number => {
    let unkept = queue.length + cursors.replayed().length
    for (const { sequence } of inFlight()) if (waiting.get(sequence) === undefined) unkept += 1
    return Math.min(
      QUEUED_PER_SLOT * config.maxConcurrency - queued,
      MOST_WAITING - (waiting.size - unread.length) - unkept,
      MOST_BEHIND - behindPosition,
    )
  }
  const slots = (): number => (breaker.isOpen ? 1 : config.maxConcurrency)
  const setOrder = (): void => {
    unread = []
    order = NO_ORDER
    if (config.order === 'issuer') enterAll()
    for (const [sequence] of waiting.entries()) {
      waiting.disarm(sequence)
      arm(sequence)
    }
  }
  /** Begins the order of issuers with what is not finished. */
  const enterAll = (): void => {
    order = createIssuerOrder()
    const { readTo } = cursors.live.progress
    const unfinished = new Map([...waiting.entries()].map(([sequence, { subject }]) => [sequence, subject]))
    unread = [...unfinished.keys()]
      .filter((sequence) => sequence > readTo && !isSent(sequence))
      .sort((one, other) => one - other)
    for (const sequence of unread) unfinished.delete(sequence)
    for (const { delivery } of flights.values()) unfinished.set(delivery.sequence, delivery.subject)
    for (const { sequence, subject } of [...queue, ...cursors.replayed()]) unfinished.set(sequence, subject)
    for (const [sequence, subject] of [...unfinished].sort(([one], [other]) => one - other)) {
      order.enter(subject, sequence)
    }
  }
  /** What waits up to there takes its place in the order of its issuer. */
  const release = (readTo: number): void => {
    for (let next = unread[0]; next !== undefined && next <= readTo; next = unread[0]) {
      unread.shift()
      order.enter(waiting.get(next)?.subject ?? '', next)
      arm(next)
    }
  }
  const setRate = (): void => {
    const { rateLimit } = config
    tokenAtMs = null
    bucket = rateLimit === null ? null : createRateLimit(rateLimit)
  }
  const begin = (
    delivery: Matched,
    { tries, asked = 0 }: Pick<RetryRow, 'tries' | 'asked'>,
    sort: Sort,
  ): Start => {
    tokenAtMs = null
    firstsInRow = sort === 'first' ? firstsInRow + 1 : 0
    flights.set(delivery.sequence, { delivery, tries, asked, sort })
    return { delivery, attempt: tries + 1, sort }
  }

  for (const [sequence, row] of loaded.retries) waiting.put(sequence, row)
  setOrder()
  setRate()

  return {
    /** Why it wants to be disabled; nothing is sent from then on, until `configure` has said that it is not active, or is again. */
    get disableReason() {
      return disableReason
    },
    get failingSinceMs() {
      return failingSinceMs
    },
    /** The cursor over new events, and replays. Read only while there is room. */
    cursors,
    /** The dead behind `after`, up to `until`, rising. */
    deadIn: dead.in,
    configure(next: MachineConfig): void {
      const before = config
      config = next
      if (next.order !== before.order) setOrder()
      if (next.rateLimit !== before.rateLimit) setRate()
      if (next.isActive && before.isActive) return
      // Whoever makes it active again says that it is well: what is due leaves at once, and what ended meanwhile is forgotten.
      disableReason = null
      failedSince(null)
      breaker.succeeded()
    },
    /** How many new events it takes now. */
    room(): number {
      return roomFor(queue.length, cursors.live.progress.size)
    },
    /** How many events of the replay it takes now; 0 where there is none. */
    replayRoom(): number {
      const { replay } = cursors
      return replay === null ? 0 : roomFor(cursors.replayed().length, replay.progress.size)
    },
    /** A matching event, in rising order. One that was decided, or waits already, is passed over. */
    offer(delivery: Matched, nowMs: number): void {
      const { sequence, subject } = delivery
      const { progress } = cursors.live
      if (sequence <= progress.readTo || !progress.seen(sequence)) return
      const isKept = waiting.get(sequence) !== undefined
      release(sequence)
      if (isKept) return progress.kept(sequence)
      order.enter(subject, sequence)
      queue.push(delivery)
      if (!order.isFirst(subject, sequence)) {
        queue.pop()
        keep(delivery, { tries: 0, dueMs: nowMs, lastStatus: null }, false)
      }
    },
    /** Everything up to there is read; what was not offered does not match. */
    passedTo(sequence: number): void {
      cursors.live.progress.passedTo(sequence)
      release(sequence)
    },
    /**
     * A matching event of the replay that is being read, in rising order, none that the cursor over new events has not read.
     * One that is about to be sent anyway is passed over.
     */
    offerReplayed(delivery: Matched): void {
      const { sequence, subject } = delivery
      if (waiting.get(sequence) !== undefined) return cursors.replayKept(sequence)
      if (isSent(sequence) || queue.some((queued) => queued.sequence === sequence)) return
      if (!cursors.replaySeen(delivery)) return
      order.enter(subject, sequence)
    },
    /** What is to be sent now, which takes its slot; null: nothing, before `wakeAtMs` or the end of something sent. */
    next(nowMs: number): Start | null {
      if (!config.isActive || disableReason !== null) return null
      // Of before the clock was set back: nobody waits for that.
      if (tokenAtMs !== null && tokenAtMs - nowMs > (bucket?.spacingMs ?? 0)) tokenAtMs = null
      if (flights.size >= slots() || !breaker.mayLeave(nowMs)) return null
      holdBlocked(nowMs)
      const due = waiting.first()
      const [first] = queue
      const replayed = firstReplayed()
      const sort = nextSort({
        slots: slots(),
        behind: behind(),
        firstWaits: first !== undefined,
        retryWaits: due !== null && due.dueMs <= nowMs,
        replayWaits: replayed !== undefined,
        firstsInRow,
        firstsBeforeRetry: breaker.isOpen ? 1 : FIRSTS_BEFORE_RETRY,
      })
      if (sort === null) return null
      tokenAtMs ??= bucket?.take(nowMs) ?? nowMs
      if (tokenAtMs > nowMs) return null
      if (sort === 'first' && first !== undefined) {
        queue.shift()
        return begin(first, UNTRIED, sort)
      }
      if (sort === 'replay' && replayed !== undefined) {
        cursors.replayTaken(replayed.sequence)
        return begin(replayed, UNTRIED, sort)
      }
      const row = due === null ? undefined : waiting.get(due.sequence)
      if (due === null || row === undefined) return null
      waiting.disarm(due.sequence)
      const { eventId, subject, cursor, recordedMs } = row
      return begin({ sequence: due.sequence, eventId, subject, cursor, recordedMs }, row, sort)
    },
    /** When `next` may have something, as things are, ms since 1970; null: not before something ends or is offered. */
    wakeAtMs(): number | null {
      if (!config.isActive || disableReason !== null || flights.size >= slots()) return null
      const isReady = queue.length > 0 || firstReplayed() !== undefined
      const readyMs = isReady ? 0 : (waiting.first()?.dueMs ?? null)
      return readyMs === null ? null : Math.max(readyMs, breaker.probeAtMs, tokenAtMs ?? 0)
    },
    /**
     * An attempt ended; what follows, null where nothing of that sequence is in flight. Its slot stays taken until the
     * batch with its outcome is durable. `chance` is a number in [0, 1).
     */
    ended(
      sequence: number,
      end: AttemptEnd,
      { nowMs, chance }: { nowMs: number; chance: number },
    ): Verdict | null {
      const flight = flights.get(sequence)
      if (flight === undefined) return null
      const { delivery, asked } = flight
      const tries = flight.tries + 1
      const lastStatus = end.kind === 'answered' ? end.status : null
      const verdict = verdictOn(end, { tries, asked, nowMs, chance })
      if (verdict.next === 'delivered') {
        breaker.succeeded()
        failedSince(null)
        finish(delivery, dead.revived(sequence))
        return verdict
      }
      breaker.failed(nowMs, chance)
      failedSince(failingSinceMs ?? nowMs)
      if (verdict.next === 'dead') die(delivery, tries, lastStatus, 'tries', nowMs)
      else keep(delivery, { tries, lastStatus, ...waitAfter(verdict, { asked, nowMs }) }, true)
      if (verdict.next === 'disable') disableReason = 'gone'
      else if (nowMs - (failingSinceMs ?? nowMs) >= FAILING_LIMIT_MS) disableReason ??= 'failing'
      return verdict
    },
    /** It could not be sent yet, for want of its body; it is due again at that time. */
    notSent(sequence: number, againMs: number): void {
      const flight = flights.get(sequence)
      if (flight === undefined) return
      flights.delete(sequence)
      const row = waiting.get(sequence)
      if (row === undefined) keep(flight.delivery, { tries: 0, dueMs: againMs, lastStatus: null }, false)
      else waiting.arm(sequence, againMs)
    },
    /** The log no longer keeps it: it is dead. */
    dropped(sequence: number, nowMs: number): void {
      const flight = flights.get(sequence)
      if (flight === undefined) return
      const lastStatus = waiting.get(sequence)?.lastStatus ?? null
      die(flight.delivery, flight.tries, lastStatus, 'dropped', nowMs)
    },
    /** True where there are rows to be written. */
    owes: (): boolean => outcomes.length > 0 || cursors.owes(),
    /**
     * The rows that are owed; null where none is. `flush`: also a position that merely moved. `cursorAt` gives the log's
     * cursor of a sequence. Not to be called again before the batch is settled.
     */
    take(cursorAt: (sequence: number) => string, flush: boolean): Batch | null {
      const taken = outcomes
      outcomes = []
      const changes = taken.flatMap((outcome) => outcome.changes)
      const positions = cursors.take({ cursorAt, failingSinceMs, flush })
      if (taken.length + positions.changes.length === 0) return null
      const puts = changes.filter(({ value }) => value !== null)
      const removals = changes.filter(({ value }) => value === null)
      return {
        changes: [...puts, ...positions.changes, ...removals],
        settled() {
          positions.settled()
          for (const { sequence, subject, as, holdsSlot } of taken) {
            if (holdsSlot) flights.delete(sequence)
            if (as === 'kept') {
              unwritten.delete(sequence)
              cursors.kept(sequence)
              arm(sequence)
            } else {
              waiting.remove(sequence)
              arm(order.leave(subject, sequence))
            }
          }
        },
      }
    },
    /** Deliveries that are known and not over, and when the oldest of them was first held, ms since 1970. */
    figures(): { pending: number; oldestMs: number | null } {
      const unkept = inFlight().filter(({ sequence }) => waiting.get(sequence) === undefined)
      let { size: pending, oldestMs } = waiting
      for (const group of [queue, cursors.replayed(), unkept]) {
        for (const { recordedMs } of group) {
          pending += 1
          oldestMs = Math.min(oldestMs ?? recordedMs, recordedMs)
        }
      }
      return { pending, oldestMs }
    },
  }
}
