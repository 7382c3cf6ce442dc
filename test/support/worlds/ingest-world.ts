/**
 * Simulates everything around the poller's state machine: an upstream with time-keyed cursors, a log that can lose its
 * response, a process that can die. It keeps its own record of what should be published. All draws come from one seed,
 * so a failing run can be repeated.
 */
import type { StoredRevision } from '../../../src/archive/store/archive.ts'
import { createCalendar } from '../../../src/core/calendar/calendar.ts'
import { type SeededChance, seededChance } from '../../../src/core/chance.ts'
import { contentHash } from '../../../src/core/disclosure.ts'
import { isGap, type NewEvent } from '../../../src/core/event.ts'
import type { Purpose } from '../../../src/core/purpose.ts'
import type { QuotaReset } from '../../../src/governor/quota/ledger.ts'
import { countUnits, type OpenLedger } from '../../../src/governor/quota/time-buckets.ts'
import { reconciliationBudget } from '../../../src/governor/schedule/daily-reconciliation.ts'
import { plannedPacing } from '../../../src/governor/schedule/pacing.ts'
import { rescansOf } from '../../../src/governor/schedule/rescans.ts'
import { skewsMs } from '../../../src/ingest/machine/present.ts'
import {
  type IngestConfig,
  type Input,
  initialState,
  type PageOutcome,
  type PollerAction,
  type QueuedCommit,
  type ReadPage,
} from '../../../src/ingest/machine/state.ts'
import { step } from '../../../src/ingest/machine/step.ts'
import { readItems } from '../../../src/ingest/poller/read-page.ts'
import type { Head } from '../../../src/ingest/writer-state/head.ts'
import { ledgerAfterCommit } from '../../../src/ingest/writer-state/poller-writer.ts'
import { atOnce } from '../../../src/lifecycle/slices.ts'
import { COMMIT_LIMIT, type RejectedItem, rejectedHash } from '../../../src/log/events.ts'
import type { UpstreamListQuery } from '../../../src/upstream/list-parameters.ts'
import type { Failure } from '../../../src/upstream/outcome.ts'
import type { Page } from '../../../src/upstream/page.ts'
import { allowed } from '../keeping-logger.ts'
import type { LogOperation } from './real-log/operations.ts'
import { FAILURES, HonestUpstream, textOf, type WorldItem } from './world-upstream.ts'

/** How far a clock is ahead, ms: always, or at a true time. */
type Offset = number | ((trueMs: number) => number)

export interface WorldOptions {
  seed: number
  startMs: number
  items: WorldItem[]
  pageSize: number
  weeklyQuota: number
  quotaReset?: QuotaReset
  ratePerSecond?: number
  burst?: number
  backfillMs?: number
  /** Probability that a request fails, that a commit's response is lost, that the process crashes at an event. */
  failures?: number
  unknowns?: number
  crashes?: number
  /** Faults stop at this time, so that the simulation can settle. */
  faultsUntilMs?: number
  isShared?: boolean
  /** How long a response takes, ms; default 5 to 120. */
  latencyMs?: readonly [low: number, high: number]
  /** How long the response to this query takes, ms; instead of `latencyMs`. */
  latencyOf?: (query: UpstreamListQuery) => number
  /** How long a commit takes, ms; default 1 to 20. */
  commitMs?: number
  /** Upstream's `Date` minus the true time, ms, by the true time; null = it sends none. Default 0. */
  dateOffMs?: Offset | null
  /** Our clock minus the true time, ms. May be changed while the world runs. */
  clockOffMs?: Offset
  /** Timers fire a millisecond early, as real ones may. */
  timersEarly?: boolean
  /** Poll cursors are stable; by default each response has a new one. */
  stableCursors?: boolean
  /** Every poll cursor is rejected, including new ones. */
  alwaysRefuse?: boolean
  /** Changes responses as a strange upstream would. */
  strange?: (page: Page, query: UpstreamListQuery, requests: number) => Page
  /** Requests that surely fail, and how. */
  fails?: (query: UpstreamListQuery, requests: number, nowMs: number) => Failure | undefined
  /** Commits that surely fail. */
  refuseCommit?: (queued: QueuedCommit) => boolean
  /** At this time upstream invalidates every earlier cursor, once. */
  cursorsRefusedAtMs?: number
  /** Gets what is done to the log, in order. */
  onLog?: (operation: LogOperation) => void
}

const calendar = createCalendar()
const offsetAt = (offset: Offset, trueMs: number): number =>
  typeof offset === 'number' ? offset : offset(trueMs)

interface Scheduled {
  atMs: number
  order: number
  run: () => void
}

/** The durable state. */
interface Store {
  head: Head
  ledger: OpenLedger
  events: (NewEvent & { sequence: number })[]
  rejected: RejectedItem[]
  standings: Map<string, StoredRevision>
}

export class World {
  readonly store: Store
  readonly requests: { atMs: number; purpose: Purpose; query: UpstreamListQuery }[] = []
  /** `atMs`: the true time. */
  readonly reports: { atMs: number; level: string; event: string; fields: Record<string, unknown> }[] = []
  /** Polls by the true time, with when they were due, the interval planned after each, and upstream's time by the clocks of its plan. */
  readonly polls: { atMs: number; dueMs: number; plannedMs: number; upstreamMs: readonly number[] }[] = []
  /** True times of all requests. */
  readonly requestsMs: number[] = []
  /** Item texts of the good answers that a process received, with when it did. */
  readonly shown: { atMs: number; texts: readonly string[] }[] = []
  /** When each event of the store was committed; true times. */
  readonly committedMs: number[] = []
  /** When a process claimed the log; true times. */
  readonly claimsMs: number[] = []
  /** When the first of them came. */
  firstAnswerMs: number | null = null
  nowMs: number
  readonly options: WorldOptions
  private readonly chance: SeededChance
  private readonly config: IngestConfig
  private readonly agenda: Scheduled[] = []
  private readonly upstream: HonestUpstream
  private state = initialState()
  private order = 0
  /** Counts process starts and claims; results that belong to an earlier one are dropped. */
  private life = 0
  private isPaused = false
  private requestNumber = 0
  private wakeNumber = 0

  constructor(options: WorldOptions) {
    this.options = options
    this.nowMs = options.startMs
    this.chance = seededChance(options.seed)
    this.upstream = new HonestUpstream(options.items, options.stableCursors === true)
    const { pageSize, weeklyQuota, ratePerSecond = 15, burst = 30, quotaReset = 'rolling' } = options
    const plan = { ratePerSecond, burst, weeklyQuota, pageSize, quotaReset }
    this.config = {
      ...{ pageSize, weeklyQuota, quotaReset, calendar, isShared: options.isShared ?? true },
      pacing: plannedPacing(plan, calendar),
      breathMs: (burst / ratePerSecond) * 1000,
      rounds: rescansOf(plan),
      dayWalks: reconciliationBudget(plan),
      backfillMs: options.backfillMs ?? 0,
      chance: () => this.chance.next(),
    }
    this.store = {
      head: { ...initialState().head, epoch: 'epoch000' },
      ledger: new Map(),
      events: [],
      rejected: [],
      standings: new Map(),
    }
  }

  /** Runs the simulation until `untilMs`. */
  run(untilMs: number): void {
    if (this.order === 0) this.start()
    for (;;) {
      this.agenda.sort((one, other) => one.atMs - other.atMs || one.order - other.order)
      const next = this.agenda[0]
      if (next === undefined || next.atMs > untilMs) break
      this.agenda.shift()
      this.nowMs = Math.max(this.nowMs, next.atMs)
      if (this.happens(this.options.crashes)) this.crash()
      else next.run()
    }
    this.nowMs = untilMs
  }

  /** The process crashes: only the store is left. It restarts a second later. */
  crash(): void {
    this.stop()
    this.at(1000, () => this.start())
  }

  /** The process ends without any output. */
  stop(): void {
    this.options.onLog?.({ type: 'died' })
    this.life++
    this.agenda.length = 0
    this.state = initialState()
  }

  /** The process starts, and has read whether polling is paused. */
  start(): void {
    this.pause(this.isPaused)
    this.feed({ type: 'started', nowMs: this.nowMs })
  }

  /** An operator pauses polling or resumes it; the log keeps that over crashes. */
  pause(isPaused: boolean): void {
    this.isPaused = isPaused
    this.feed({ type: 'pause_set', sinceMs: isPaused ? this.nowMs : null, nowMs: this.nowMs })
  }

  get openGaps() {
    return this.store.head.openGaps
  }

  /** Items that upstream lists but that are neither in the log, nor rejected, nor inside an open gap. */
  missing(): WorldItem[] {
    const published = this.store.events.filter((event) => !isGap(event.type)).map((event) => event.data)
    const held = new Set([...published, ...this.store.rejected.map((item) => item.raw)])
    return this.options.items.filter((item) => {
      if (item.visibleMs > this.nowMs || held.has(textOf(item))) return false
      return !this.openGaps.some(
        (gap) => Date.parse(gap.from) <= item.timeMs && item.timeMs <= Date.parse(gap.to),
      )
    })
  }

  /** Item texts that are in the log more than once. */
  twice(): string[] {
    const texts = this.store.events.filter((event) => !isGap(event.type)).map((event) => event.data)
    const seen = new Set<string>()
    return texts.filter((text) => seen.size === seen.add(text).size)
  }

  unitsSpent(): number {
    const units = [...this.store.ledger.values()].flatMap((hour) => Object.values(hour))
    return units.reduce((sum, count) => sum + count, 0)
  }

  /** The state of upstream on the status page. */
  get health() {
    return this.state.upstream
  }

  /** What the process knows of upstream's last good answer. `rightMs`: upstream's clock minus ours by the one that is right. */
  get lastGood() {
    return { atMs: this.state.lastGoodPollMs, skewMs: this.state.skewMs, rightMs: skewsMs(this.state)[0] }
  }

  private happens(probability = 0): boolean {
    return this.nowMs < (this.options.faultsUntilMs ?? 0) && this.chance.yes(probability)
  }

  /** Clocks have whole milliseconds, and a timer never fires before its time. */
  private at(delayMs: number, run: () => void): void {
    this.agenda.push({ atMs: Math.ceil(this.nowMs + Math.max(0, delayMs)), order: this.order++, run })
  }

  /** Like `at`, but dropped when the process that scheduled it has ended. */
  private during(delayMs: number, run: () => void): void {
    const { life } = this
    this.at(delayMs, () => {
      if (life === this.life) run()
    })
  }

  feed(input: Input): void {
    const dueMs = this.state.nextPollMs
    const result = step(this.state, { ...input, nowMs: this.ourMs }, this.config)
    this.state = result.state
    for (const action of result.actions) this.perform(action, dueMs)
  }

  private perform(action: PollerAction, dueMs: number): void {
    if (action.type === 'campaign') {
      this.life++
      this.during(10, () => this.feed({ type: 'elected', nowMs: this.nowMs }))
    } else if (action.type === 'claim') {
      this.life++
      this.claimsMs.push(this.nowMs)
      this.during(10, () => {
        const writer = this.writerState()
        this.options.onLog?.({ type: 'claimed', after: writer, rejected: this.store.rejected.length })
        this.feed({ type: 'claimed', writer, nowMs: this.nowMs })
      })
    } else if (action.type === 'await-replica')
      this.during(1, () => this.feed({ type: 'replicated', nowMs: this.nowMs }))
    else if (action.type === 'wake') {
      const number = ++this.wakeNumber
      const delayMs = action.atMs - this.ourMs
      this.during(delayMs - (this.options.timersEarly === true && delayMs > 1 ? 1 : 0), () => {
        if (number === this.wakeNumber) this.feed({ type: 'woke', nowMs: this.nowMs })
      })
    } else if (action.type === 'abandon') this.requestNumber++
    else if (action.type === 'request') this.send(action.purpose, action.query, dueMs)
    else if (action.type === 'commit') this.commit(action.queued)
    else if (action.type === 'report') this.reports.push({ ...allowed(action), atMs: this.nowMs })
  }

  private writerState() {
    const { head, ledger } = this.store
    return { head: { ...head }, ledger }
  }

  private send(purpose: Purpose, query: UpstreamListQuery, dueMs: number): void {
    const spentMs = this.ourMs
    // Processes keep the ledger that they were given.
    this.store.ledger = new Map(this.store.ledger)
    countUnits(this.store.ledger, 1, purpose, spentMs)
    this.store.head = { ...this.store.head, lastSpendMs: spentMs }
    this.options.onLog?.({ type: 'spent', purpose, atMs: spentMs })
    this.requests.push({ atMs: spentMs, purpose, query })
    this.requestsMs.push(this.nowMs)
    if (purpose === 'poll' || purpose === 'probe') {
      const upstreamMs = this.state.plannedSkewsMs.map((skewMs) => this.ourMs + skewMs)
      this.polls.push({
        atMs: this.nowMs,
        dueMs,
        plannedMs: this.state.plan.intervalMs,
        upstreamMs,
      })
    }
    const number = ++this.requestNumber
    const { latencyMs: [low, high] = [5, 120], dateOffMs = 0, latencyOf } = this.options
    const latencyMs = latencyOf?.(query) ?? this.chance.between(low, high)
    this.during(latencyMs, () => {
      if (number !== this.requestNumber) return
      const shownMs = this.nowMs - (this.nowMs % 1000)
      const serverMs = dateOffMs === null ? null : shownMs + offsetAt(dateOffMs, this.nowMs)
      const given = this.answerTo(query)
      const sent = given.kind !== 'network' || given.message !== 'ECONNREFUSED'
      const answer: PageOutcome = { startedMs: spentMs, endedMs: this.ourMs, serverMs, sent, ...given }
      this.feed({ type: 'answered', answer, spentMs, ledger: this.writerState().ledger, nowMs: this.nowMs })
    })
  }

  private answerTo(query: UpstreamListQuery): Failure | { kind: 'ok'; value: ReadPage } {
    if (this.happens(this.options.failures)) return this.chance.pick(FAILURES)
    const failure = this.options.fails?.(query, this.requests.length, this.nowMs)
    if (failure !== undefined) return failure
    const refusedAt = this.options.cursorsRefusedAtMs ?? Number.POSITIVE_INFINITY
    if (
      query.sinceCursor !== undefined &&
      this.nowMs >= refusedAt &&
      Number(query.sinceCursor.split('@')[1]) < refusedAt
    ) {
      return { kind: 'refused', status: 400, message: 'cursor expired', hint: null }
    }
    const page = this.options.strange?.(this.answer(query), query, this.requests.length) ?? this.answer(query)
    if (page.items.length > 0) {
      this.shown.push({ atMs: this.nowMs, texts: page.items.map(({ text }) => text) })
    }
    this.firstAnswerMs ??= this.nowMs
    const standings = (guids: string[]) => {
      const found = new Map([...this.store.standings].filter(([guid]) => guids.includes(guid)))
      this.options.onLog?.({ type: 'looked-up', guids, found })
      return found
    }
    const stored = new Set(this.store.rejected.map(({ raw }) => rejectedHash(raw)))
    const isRejected = (hash: string) => stored.has(hash)
    const steps = readItems(page, standings, isRejected, () => false, this.ourMs)
    return { kind: 'ok', value: atOnce(steps) }
  }

  /** The page that a correct upstream would return now. */
  answer(query: UpstreamListQuery): Page {
    return this.upstream.page(query, this.nowMs)
  }

  /** The time on the clock of the poller's machine. */
  get ourMs(): number {
    return this.nowMs + offsetAt(this.options.clockOffMs ?? 0, this.nowMs)
  }

  private commit({ purpose, commit }: QueuedCommit): void {
    const refused = this.options.refuseCommit?.({ purpose, commit }) === true
    const lost = refused || this.happens(this.options.unknowns)
    const applied = !refused && (!lost || this.chance.yes(0.5))
    this.options.onLog?.({ type: 'commit-sent', commit })
    this.during(this.options.commitMs ?? this.chance.between(1, 20), () => {
      if (applied) this.apply(commit)
      this.options.onLog?.({
        type: 'commit-ended',
        stored: applied,
        answered: !lost,
        after: this.writerState(),
      })
      if (lost) this.feed({ type: 'broke', code: 'unknown', nowMs: this.nowMs })
      else this.feed({ type: 'committed', writer: this.writerState(), nowMs: this.nowMs })
    })
  }

  private apply(commit: QueuedCommit['commit']): void {
    if (commit.events.length > COMMIT_LIMIT) throw new RangeError('too many events in one commit')
    const { store } = this
    for (const event of commit.events) {
      store.events.push({ ...event, sequence: store.events.length + 1 })
      this.committedMs.push(this.nowMs)
      if (isGap(event.type)) continue
      const value = JSON.parse(event.data) as { guid: string }
      const revision = event.id === value.guid ? 1 : Number(event.id.slice(value.guid.length + 1))
      store.standings.set(value.guid, { revision, hash: contentHash(value) })
    }
    store.rejected.push(...(commit.rejected ?? []))
    store.ledger = new Map(ledgerAfterCommit(store.ledger, commit))
    store.head = { ...store.head, ...commit.head, sequence: store.events.length }
  }
}
