/**
 * Runs the real sandbox, poller, log and archive over real sockets on one virtual clock: ten market minutes take about
 * a second. When no I/O is in progress, the clock jumps to the next timer. `world-verdict.ts` checks the result.
 */

import { RecentEvents } from '../../../src/archive/reading/recent-events.ts'
import { Replicator } from '../../../src/archive/replica/replicator.ts'
import { createCalendar } from '../../../src/core/calendar/calendar.ts'
import { seededChance } from '../../../src/core/chance.ts'
import type { Committed } from '../../../src/core/event.ts'
import { type PlanName, plans } from '../../../src/core/plans.ts'
import type { Ledger } from '../../../src/governor/quota/time-buckets.ts'
import { createIngest, type Ingest } from '../../../src/ingest/ingest.ts'
import type { Head } from '../../../src/ingest/writer-state/head.ts'
import type { Clock } from '../../../src/lifecycle/clock.ts'
import type { RejectedItem } from '../../../src/log/events.ts'
import type { Log } from '../../../src/log/log.ts'
import { openSqliteLog } from '../../../src/log-embedded/log.ts'
import type { LogFields, Logger } from '../../../src/obs/logger.ts'
import type { Metrics } from '../../../src/obs/metrics.ts'
import type { Tracing } from '../../../src/obs/tracing.ts'
import type { FaultSetting } from '../../../src/sandbox/faults/fault-kinds.ts'
import type { Truth } from '../../../src/sandbox/market/market.ts'
import { type Sandbox, startSandbox } from '../../../src/sandbox/sandbox.ts'
import type { Usage } from '../../../src/sandbox/usage.ts'
import type { KeptLine } from '../keeping-logger.ts'
import { newestRejected } from '../newest-rejected.ts'
import { createManualClock, type ManualClock } from '../time/manual-clock.ts'
import { type WholePage, type WireWatch, watchWire } from './wire-watch.ts'

/** A fault that starts `atMs` after the start. */
export interface TimedFault {
  atMs: number
  setting: FaultSetting
}

/** Ends the poller `atMs` after the start, by a stop or a crash, and restarts it on the same data. */
export interface TimedEnd {
  atMs: number
  how: 'stop' | 'crash'
}

/** Settings that determine one world completely. */
export interface WorldPlan {
  scenario: string
  seed: number
  plan: PlanName
  /** Units a week, for both sides. */
  weeklyQuota: number
  backfillMs: number
  /** Our clock minus upstream's at the start. */
  clockOffMs: number
  faults: readonly TimedFault[]
  /** Time after which no fault is active, ms after the start. */
  faultsUntilMs: number
  ends: readonly TimedEnd[]
  /** A market that is not finished by then, ms after the start, is checked as it is. */
  marketMs: number
}

/** A line that the poller logged, with the market's time. */
export type TimedLine = KeptLine & { marketMs: number }

/** Everything that the checks need when the world has settled. */
export interface WorldRun {
  /** Why it never settled, or the error that ended the poller; null if it settled. */
  stuck: string | null
  truth: Truth
  usage: Usage
  /** Items visible before this market time must be covered, ms since 1970. */
  coveredMs: number
  /** Everything in the log, in sequence. */
  events: Committed[]
  /** The same events, by commit. */
  commits: Committed[][]
  rejected: RejectedItem[]
  head: Head
  ledger: Ledger
  pages: readonly WholePage[]
  lines: readonly TimedLine[]
  /** Virtual time that passed. */
  virtualMs: number
}

/** Idle event-loop ticks after which nothing is in progress any more. */
const REST_TURNS = 6
/** The same while a response is awaited: client and server share this process, so only a withheld one takes longer. */
const SILENT_TURNS = 40
/**
 * A world that needs more virtual time than this after its market and faults are over will not come to rest. A gap that
 * has failed ten times is tried again hours later.
 */
const LONGEST_REST_MS = 24 * 3_600_000

/** Runs one world until it settles, on an empty data directory. */
export async function runWorld(
  plan: WorldPlan,
  { dataDir, metrics, tracing = null }: { dataDir: string; metrics: Metrics; tracing?: Tracing | null },
): Promise<WorldRun> {
  const clock = createManualClock()
  const { weeklyQuota, seed } = plan
  const sandbox = await startSandbox(
    { scenario: plan.scenario, plan: plan.plan, seed, weeklyQuota },
    { clock },
  )
  const beganMs = clock.now()
  const offMs = sandbox.marketNow() - beganMs + plan.clockOffMs
  const ours: Clock = { now: () => clock.now() + offMs, after: clock.after }
  using wire = watchWire(new URL(sandbox.url).origin, () => sandbox.marketNow())
  const life = createLives({ plan, sandbox, wire, clock: ours, dataDir, metrics, tracing })
  const pages: WholePage[] = []
  wire.onPage = (page) => void pages.push(page)
  let due: TimedEnd['how'] | null = null
  const added: number[] = []
  for (const { atMs, setting } of plan.faults)
    clock.after(atMs, () => void added.push(sandbox.faults.add(setting).id))
  clock.after(plan.faultsUntilMs, () => {
    for (const id of added) sandbox.faults.remove(id)
  })
  for (const end of plan.ends) {
    clock.after(end.atMs, () => {
      due = end.how
    })
  }
  const overMs = Math.max(plan.faultsUntilMs, ...plan.ends.map(({ atMs }) => atMs))
  const isOver = (): boolean => {
    const passedMs = clock.now() - beganMs
    return passedMs >= overMs && (passedMs >= plan.marketMs || sandbox.finished())
  }
  const lastsMs = Math.max(overMs, plan.marketMs)
  const at = {
    sandbox,
    wire,
    clock: ours,
    overMs: ours.now() + lastsMs,
    marketOverMs: sandbox.marketNow() + lastsMs,
  }
  try {
    life.start()
    let stuck: string | null = null
    for (;;) {
      await settle(life, wire)
      if (due !== null) {
        await life.end(due)
        due = null
        life.start()
        continue
      }
      if (life.fault() !== null) stuck = String(life.fault())
      else if (clock.now() - beganMs > plan.marketMs + overMs + LONGEST_REST_MS) stuck = 'never came to rest'
      if (stuck !== null || (isOver() && isAtRest(life.ingest(), at))) break
      if (!stepOn(clock)) stuck = 'the poller waits for nothing'
    }
    const { head, ledger } = life.ingest().poller.state
    const evidence = { commits: life.commits, lines: life.lines, pages, head, ledger }
    const log = life.log()
    const lastPoll = pages.findLast(({ query }) => query.has('sinceCursor'))
    const polledMs = lastPoll?.askedMs ?? 0
    // While the market runs, so do scheduled re-scans: items that arrived late after the last one are still to be found.
    const coveredMs = sandbox.finished()
      ? sandbox.marketNow()
      : Math.min(polledMs, head.round?.fromMs ?? polledMs)
    const [events, rejected] = [log.events(), await log.rejected()]
    const measured = { truth: sandbox.truth(), usage: sandbox.usage(), virtualMs: clock.now() - beganMs }
    return { stuck, events, rejected, coveredMs, ...evidence, ...measured }
  } finally {
    await life.end('stop')
    await sandbox.close()
  }
}

/** Steps to the next timer. False where there is none. */
function stepOn(clock: ManualClock): boolean {
  const nextMs = clock.nextTimerMs()
  if (nextMs === null) return false
  clock.advance(nextMs)
  return true
}

/** Lets the process run until it is idle: the poller waits for its timer, or for a response that is withheld. */
async function settle(life: Lives, wire: WireWatch): Promise<void> {
  let still = 0
  let before: readonly unknown[] = []
  while (still < (life.awaitsAnswer() ? SILENT_TURNS : REST_TURNS)) {
    await new Promise((resolve) => setImmediate(resolve))
    const now = [wire.moves, life.ingest().poller.state, life.fault()]
    still = now.every((value, index) => value === before[index]) ? still + 1 : 0
    before = now
  }
}

interface RestingWorld {
  sandbox: Sandbox
  wire: WireWatch
  clock: Clock
  /** When the market's busy time, the faults and the ends of processes are over: on our clock, ms since 1970. */
  overMs: number
  /** The same on the market's clock. */
  marketOverMs: number
}

/**
 * True when nothing affordable is pending and a poll has seen the final market: a poll at this very moment or, if the
 * market never ends, a poll and a scheduled re-scan after all faults were over.
 */
function isAtRest(
  { poller, config }: Ingest,
  { sandbox, wire, clock, overMs, marketOverMs }: RestingWorld,
): boolean {
  const { state } = poller
  const { head } = state
  const { round } = head
  const hasRound =
    round === null || round.dueAtMs === null || (!sandbox.finished() && round.fromMs > marketOverMs)
  const hasNothingPending =
    head.openGaps.length === 0 && head.sweep === null && head.backfill === null && hasRound
  const canPay = config.pacing.mayRetryGap(state.ledger, clock.now())
  return (
    state.name === 'polling' &&
    state.request === null &&
    state.queue.length === 0 &&
    state.upstream === 'ok' &&
    (sandbox.finished()
      ? state.lastGoodPollMs === clock.now() && wire.lastRequestMs === sandbox.marketNow()
      : (state.lastGoodPollMs ?? 0) > overMs) &&
    (hasNothingPending || !canPay)
  )
}

interface Lives {
  readonly commits: Committed[][]
  readonly lines: TimedLine[]
  ingest(): Ingest
  log(): { events(): Committed[]; rejected(): Promise<RejectedItem[]> }
  /** True while a request is sent and its response not yet processed. */
  awaitsAnswer(): boolean
  /** The error that ended the poller or the replicator, or null. */
  fault(): unknown
  start(): void
  /** Stops the running process, gracefully or by a crash. Does nothing if none runs. */
  end(how: TimedEnd['how']): Promise<void>
}

/** Runs the bridge's poller, log and archive, one process after another on the same data. */
function createLives(parts: {
  plan: WorldPlan
  sandbox: Sandbox
  wire: WireWatch
  clock: Clock
  dataDir: string
  metrics: Metrics
  tracing: Tracing | null
}): Lives {
  const { plan, sandbox, wire, clock } = parts
  const commits: Committed[][] = []
  const lines: TimedLine[] = []
  const chance = seededChance(plan.seed)
  let current: ReturnType<typeof begin> | null = null
  const begin = () => {
    const { log, archive } = openSqliteLog({
      dataDir: parts.dataDir,
      nativeKind: 'Native',
      clock,
    })
    const recentEvents = new RecentEvents(archive.latest)
    const logger = timedLogger(lines, sandbox.marketNow)
    const replicator = new Replicator({
      log,
      archive,
      recentEvents,
      clock,
      logger,
      shared: true,
      silentSinceMs: () => null,
    })
    const ingest = createIngest({
      upstream: upstreamOf(plan, sandbox),
      native: { word: 'native' },
      gatewayUnits: 0,
      backfillMs: plan.backfillMs,
      calendar: createCalendar(),
      log: recording(log, commits),
      archive,
      replicator,
      clock,
      chance: chance.next,
      logger,
      metrics: parts.metrics,
      tracing: parts.tracing,
    })
    const stop = new AbortController()
    const life = { log, archive, ingest, stop, fault: null as unknown, ended: Promise.resolve<unknown>(null) }
    const failed = (error: unknown): void => {
      life.fault ??= error
    }
    life.ended = Promise.all([
      replicator.run(stop.signal).catch(failed),
      ingest.poller.run(stop.signal).catch(failed),
    ])
    return life
  }
  const living = () => {
    if (current === null) throw new Error('there is no life')
    return current
  }
  let asked: unknown = null
  wire.onRequest = () => {
    asked = living().ingest.poller.state.request
  }
  return {
    commits,
    lines,
    ingest: () => living().ingest,
    log: () => {
      const { archive, log } = living()
      return { events: () => archive.committed(0, 1_000_000), rejected: () => newestRejected(log, 100_000) }
    },
    awaitsAnswer: () => asked !== null && asked === living().ingest.poller.state.request,
    fault: () => current?.fault ?? null,
    start() {
      current = begin()
    },
    async end(how) {
      const life = current
      current = null
      if (life === null) return
      if (how === 'crash') await life.log.close()
      life.stop.abort()
      await life.ended
      await life.ingest.close()
      await life.log.close()
    },
  }
}

function timedLogger(lines: TimedLine[], marketNow: () => number): Logger {
  const at =
    (level: KeptLine['level']) =>
    (event: string, fields: LogFields = {}): void =>
      void lines.push({ level, event, fields, marketMs: marketNow() })
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
}

function upstreamOf({ plan, weeklyQuota }: WorldPlan, { url, key }: Sandbox) {
  const figures = { ...plans[plan], name: plan, weeklyQuota, quotaReset: 'rolling' as const }
  return { url, key, plan: figures, nativeWord: 'native', nativeKind: 'Native' }
}

/** The same log, with its commits recorded. */
function recording(log: Log, commits: Committed[][]): Log {
  return {
    ...log,
    async claim(term, signal) {
      const writer = await log.claim(term, signal)
      return {
        epoch: writer.epoch,
        get sequence() {
          return writer.sequence
        },
        rows: writer.rows,
        release: writer.release,
        async commit(commit) {
          const events = await writer.commit(commit)
          commits.push(events)
          return events
        },
      }
    },
  }
}
