/** Defines the state, the inputs and the actions of the poller's state machine. */
import type { PollHolds } from '../../archive/journeys.ts'
import type { Calendar } from '../../core/calendar/calendar.ts'
import type { ParsedItem } from '../../core/disclosure.ts'
import type { GapCause } from '../../core/event.ts'
import type { Purpose } from '../../core/purpose.ts'
import { firstProfile, type Profile } from '../../governor/arrivals/profile.ts'
import type { QuotaReset } from '../../governor/quota/ledger.ts'
import { type RetryAllowance, UNTOUCHED } from '../../governor/quota/retry-allowance.ts'
import {
  type Cause,
  type ClassifierState,
  INITIAL_CLASSIFIER,
} from '../../governor/quota/throttle-classifier.ts'
import type { Ledger, Refund } from '../../governor/quota/time-buckets.ts'
import type { ReconciliationBudget } from '../../governor/schedule/daily-reconciliation.ts'
import type { Pacing, PollPlan } from '../../governor/schedule/pacing.ts'
import type { ScheduledRescans } from '../../governor/schedule/rescans.ts'
import type { LeaderOrder } from '../../http/schemas/leader-order.ts'
import type { Chance } from '../../lifecycle/clock.ts'
import type { RejectedItem } from '../../log/events.ts'
import type { LogEvent } from '../../obs/log-events.ts'
import type { LogFields } from '../../obs/logger.ts'
import type { PollResult } from '../../obs/metrics.ts'
import type { FundOutcome } from '../../upstream/fund-client.ts'
import type { UpstreamListQuery } from '../../upstream/list-parameters.ts'
import type { Outcome } from '../../upstream/outcome.ts'
import type { Page } from '../../upstream/page.ts'
import { type Head, type RightClock, unusedHead } from '../writer-state/head.ts'
import type { PollerCommit } from '../writer-state/poller-writer.ts'
import type { WriterState } from '../writer-state/rows.ts'

/** The states, in the order in which a process passes through them. */
export const stateNames = [
  'standby',
  'claiming',
  'catching-up',
  'polling',
  'filling',
  'rescanning',
  'backfilling',
  'releasing',
] as const
/** One of the states. */
export type StateName = (typeof stateNames)[number]

/** How upstream responds to this process, as `GET /v1/status` shows it. */
export type UpstreamHealth = 'ok' | 'throttled' | 'quota' | 'unauthorised' | 'failing' | 'waiting'

/** An item revision that is fetched and not yet published. */
export interface FetchedItem extends ParsedItem {
  /** The item's JSON text as upstream sent it, on one line. */
  text: string
  /** 1 for the first content of this guid. */
  revision: number
  /** When it was fetched, ms since 1970, our clock. */
  fetchedMs: number
  /** Which request brought it, as text: see `archive/journeys.ts`. Absent where that is not told. */
  journey?: string
}

/** A page, compared with what is already published. */
export interface ReadPage
  extends Pick<Page, 'nextCursor' | 'latestCursor' | 'hasMore' | 'warnings' | 'itemTotal'> {
  /** Revisions that are not published yet, the oldest of the page first. */
  fresh: FetchedItem[]
  /** guids of every readable item of the page. */
  guids: string[]
  /** Upstream times of every readable item, in the same order, ms since 1970. */
  times: number[]
  /** Items on the page, unreadable ones too, and what tells them apart: a guid, or the hash of what cannot be read. */
  count: number
  keys: string[]
  duplicates: number
  rejected: RejectedItem[]
}

/** The outcome of a request, its page compared with what is already published. */
export type PageOutcome = Outcome<ReadPage>

/**
 * What a page scan is for. `fill` completes an overflowing poll, `gap_retry` fills an open gap, `overlap_rescan` follows a
 * burst, `scheduled_rescan` reads recent items again, `daily_reconciliation` reads a day again after its release window.
 */
export type ScanKind =
  | 'fill'
  | 'gap_retry'
  | 'overlap_rescan'
  | 'scheduled_rescan'
  | 'daily_reconciliation'
  | 'backfill'

/** A scan over the pages of a time range, from the first page to `nextCursor: null`. Bounds by upstream's clock. */
export interface PageScan {
  kind: ScanKind
  purpose: Purpose
  fromMs: number
  /** null: up to the newest item. */
  toMs: number | null
  /** The end of what is asked for once the pages have ended with a full one: about its oldest item; null before. */
  belowMs: number | null
  /** The next page; null = the first one. Instead of it, a page by its number, behind a full last page; else null. */
  pageCursor: string | null
  pageNumber: number | null
  /** The list so far: which items were met, on how many pages from its first one on, and the total that answers by number tell. */
  list: { met: ReadonlySet<string>; pages: number; total: number | null }
  /** When that page cursor came, by our clock; null before the first page of this try. */
  pageMs: number | null
  seenCursors: string[]
  /** guids of all pages so far: a page with none but these is a loop. */
  guids: ReadonlySet<string>
  pages: number
  /** Pages without an item of the range, and failed requests, in a row. */
  strayPages: number
  failures: number
  /** Items that are not published yet, and how many this scan has published so far. */
  fetched: FetchedItem[]
  published: number
  /** The latest revision of each guid that this scan has fetched, published or not. */
  latest: ReadonlyMap<string, FetchedItem>
  rejected: RejectedItem[]
  startedMs: number
  /** Up to where the poll before this scan covers everything; ms since 1970, upstream's clock. */
  coveredToMs: number
  /** guids of the overflowing poll: a fill that meets none is wrong. `proof`: some that lie in its range; a list has half of them. */
  mustMeet: readonly string[]
  proof: readonly string[]
  /** The gap that this scan fills; null while none is open. */
  gapId: string | null
  cause: GapCause
  /** For a fill: the changes of the head with its first commit; null once that commit is queued. */
  firstHead: PollerCommit['head'] | null
  /** For a fill: the time whose items its poll left out, upstream's clock, ms since 1970; else null. */
  unread: { fromMs: number; toMs: number } | null
  /** For a daily reconciliation: its date in London, and whether it continues an earlier try; else null. */
  day: { date: string; isResumed: boolean } | null
}

/** Which of our clock and upstream's `Date` a new item of a poll fits: by that clock it became visible since the poll before. */
export type Sighting = RightClock | 'either' | 'neither'

/** Everything that the poller's decisions depend on, durable or not. */
export interface IngestState {
  name: StateName
  /** The head as it will be when every queued commit is durable. */
  head: Head
  ledger: Ledger
  /** Commits in order; the first is in flight when `committing`. */
  queue: QueuedCommit[]
  committing: boolean
  /** The request in flight; null when none is. */
  request: { purpose: Purpose; query: UpstreamListQuery; startedMs: number } | null
  /** The last request was a poll: a waiting page scan goes before the next one. */
  wasPoll: boolean
  /** How long the last good answers to a poll and to a page of a scan took, ms; 0 before the first. */
  tookMs: { poll: number; page: number }
  /** The page scan in progress. */
  scan: PageScan | null
  /** A page scan that goes on after the present one, which is the fill of a poll. */
  scanAside: PageScan | null
  /** No page is requested for a scan before this time. */
  scansBlockedUntilMs: number
  /** Failed pages of scans without a good one between them, 429s apart. */
  failedPagesInARow: number
  /** `some`: the last page of a scan got a 429; `only`: and a poll since then was answered. */
  pageRefusals: 'none' | 'some' | 'only'
  nextPollMs: number
  /** What was planned with the last poll. */
  plan: PollPlan
  /** Upstream's clock minus ours that it was planned by, ms: by each clock that may be right. */
  plannedSkewsMs: readonly number[]
  /** The interval that was planned with the poll before it, ms. */
  intervalBeforeMs: number
  /** When items arrive, as learnt so far. */
  profile: Profile
  /** Upstream's clock minus ours by its last good poll, ms; 0 where they agree. */
  skewMs: number
  /** The last answer had a plausible `Date`; null before the first answer to this process. */
  hasDate: boolean | null
  /** The newest item not stamped ahead, and when it was seen by upstream's clock and ours, ms since 1970; null: none yet. */
  newest: { timeMs: number; seenMs: number; seenOursMs: number } | null
  /** The latest new items of polls while our clock and `Date` disagree, the latest last. */
  sightings: readonly Sighting[]
  /** Without a `Date`: how far the latest new items of polls were ahead of our clock, ms, negative behind it; the latest last. */
  leadsMs: readonly number[]
  /** Polls in a row that brought new items of which none fitted a clock. */
  unfitPolls: number
  /** `skewMs` of the last good poll, with which they were seen. */
  sightingSkewMs: number
  /** Times of the items on the last page that are stamped ahead of upstream's present. */
  aheadMs: readonly number[]
  /** Items that every poll gets again, because the cursor was kept behind an item that is stamped ahead. */
  itemsSinceCursor: number
  /** The page of the last good poll ended before upstream's present. */
  endedEarly: boolean
  /** Nothing is sent before this time. */
  blockedUntilMs: number
  /** No unit of the quota is left before this time; 0 while one is. */
  spentUntilMs: number
  /** Since when an operator has paused polling, ms since 1970; null while polling goes on. Not of the head: see ADR 0023. */
  pausedSinceMs: number | null
  /** What polls waited for, our clock: the journey of an item tells it. */
  holds: PollHolds
  /** Upstream rejected the cursor of the poll: the next request gets a new one. */
  cursorRefused: boolean
  /** When a request without the cursor was last made instead of a poll that fails, our clock; 0 before. */
  probedMs: number
  /** When a poll by cursor last listed anything new, or one by date was asked instead; the newest item that they listed. */
  cursorSeen: { atMs: number; toMs: number } | null
  /** Polls by date in a row that failed, and until when none is asked in place of one by cursor. */
  failedChecks: { inARow: number; againMs: number }
  backfillRetryMs: number
  /** Failed tries of the backfill in a row. */
  backfillFailures: number
  upstream: UpstreamHealth
  /** Our clock, ms since 1970; null before the first. */
  lastGoodPollMs: number | null
  /** Failures without a good answer between them, 429s apart. */
  failuresInARow: number
  /** Of the failures in a row, those of a rejected key. */
  keyRefusalsInARow: number
  /** Since when every answer failed, our clock; 429s apart. Null while they succeed. */
  failingSinceMs: number | null
  /** State of the 429 classifier. */
  classifier: ClassifierState
  /** Units spent on retries that were sooner than the next poll, after 429s and after other failures. */
  retries: { refused: RetryAllowance; failed: RetryAllowance }
  /** Writes in a row that failed. */
  brokenInARow: number
  /** Polls in a row whose cursor was rejected although it was new. */
  refusedInARow: number
  /** Our clock at the last input; shows that the clock was set back. */
  lastSeenMs: number
  /** Cursors of earlier answers, newest last. */
  usedCursors: string[]
  /** Overflowing polls in a row without an unknown item. */
  knownOverflows: number
  /** Items of the latest polls, oldest first; shows a burst. */
  arrivals: readonly { atMs: number; items: number }[]
  refunds: Refund[]
  /** What upstream reports as used minus our count, over the quota; null while it reports nothing. */
  quotaDrift: number | null
}

/** The figures that the decisions depend on and that never change. */
export interface IngestConfig {
  pageSize: number
  weeklyQuota: number
  quotaReset: QuotaReset
  pacing: Pacing
  /** Pause after a fill, in which the token bucket fills up; ms. */
  breathMs: number
  /** The re-scans that the plan allows, after bursts too; null where it allows none. */
  rounds: ScheduledRescans | null
  /** The daily reconciliations that the plan allows; null where it allows none. */
  dayWalks: ReconciliationBudget | null
  /** How far back the very first start reads, ms. */
  backfillMs: number
  calendar: Calendar
  /** Other processes may have led the log before this one. */
  isShared: boolean
  chance: Chance
}

/** A queued commit, with the purpose of the request that fetched its items. */
export interface QueuedCommit {
  purpose: Purpose
  commit: PollerCommit
}

/** An order that the state machine carries out. */
export type Order = Exclude<LeaderOrder, { what: 'step_down' }>

/**
 * Why an order is not carried out. `unknown`: there is no such gap, or that day is none of those that may be read again.
 * `over_budget`: the units of gaps and re-scans are used up. `untilMs`: when it may be, ms since 1970.
 */
export type OrderRefusal =
  | { why: 'paused' | 'unknown' | 'over_budget' }
  | { why: 'quota' | 'throttled' | 'no_answer_yet'; untilMs: number }

/** What can happen at `nowMs`, ms since 1970 by our clock. `sinceMs`: since when a late claim or a failed commit was tried. */
export type Input = { nowMs: number } & (
  | { type: 'started' }
  | { type: 'elected' }
  | { type: 'claimed'; writer: WriterState; sinceMs?: number }
  | { type: 'replicated' }
  | { type: 'woke' }
  | { type: 'answered'; answer: PageOutcome; spentMs: number; ledger: Ledger }
  | { type: 'unsent'; purpose: Purpose; spentMs: number; ledger: Ledger }
  | { type: 'committed'; writer: WriterState }
  | { type: 'proxied'; outcome: FundOutcome; spentMs: number; ledger: Ledger }
  | { type: 'broke'; code: 'unknown' | 'fenced'; sinceMs?: number }
  | { type: 'lost' }
  | { type: 'pause_set'; sinceMs: number | null }
  | { type: 'ordered'; order: Order }
  | { type: 'step_down_ordered' }
  | { type: 'stopped' }
)
/** The types of inputs. */
export type InputType = Input['type']

/** What `Poller` performs. */
export type PollerAction =
  /** `waitMs`: the time that other processes have to take the lead first; absent: none. */
  | { type: 'campaign'; waitMs?: number }
  | { type: 'claim' }
  | { type: 'await-replica'; sequence: number }
  /** Sets the one timer. */
  | { type: 'wake'; atMs: number }
  | { type: 'request'; purpose: Purpose; query: UpstreamListQuery }
  | { type: 'commit'; queued: QueuedCommit }
  /** Aborts the request in flight and ignores its answer. */
  | { type: 'abandon' }
  | { type: 'release' }
  /** `cause` is the verdict on a 429, absent after any other outcome. */
  | { type: 'tally'; purpose: Purpose; result: PollResult; cause?: Cause }
  | { type: 'report'; level: 'debug' | 'info' | 'warn' | 'error'; event: LogEvent; fields: LogFields }

/** A call of `step`: the draft of the next state and the actions so far. Handlers replace its fields and never mutate their values. */
export interface StepContext {
  state: IngestState
  actions: PollerAction[]
  readonly config: IngestConfig
  readonly nowMs: number
}

/** How long the items of an overflowing poll wait for the fill before they are published behind a gap, ms. */
export const HOLD_MS = 2000
/** A fill starts this long before the last clean poll, because items are not inserted in order of time; ms. */
export const FILL_MARGIN_MS = 15 * 60_000

/** True where this process leads, since `sinceMs`, and has read what the writer before it left. */
export function isInformed({ head }: Pick<IngestState, 'head'>, sinceMs: number | null): sinceMs is number {
  return sinceMs !== null && head.epoch !== ''
}

/** The profile before anything was learnt. */
export const UNTAUGHT: Profile = firstProfile()

/** The state before the first input; a claim replaces its head and ledger before any request. */
export function initialState(): IngestState {
  return {
    name: 'standby',
    head: unusedHead('', 0),
    ledger: new Map(),
    queue: [],
    committing: false,
    request: null,
    wasPoll: false,
    tookMs: { poll: 0, page: 0 },
    scan: null,
    scanAside: null,
    scansBlockedUntilMs: 0,
    failedPagesInARow: 0,
    pageRefusals: 'none',
    nextPollMs: 0,
    plan: { intervalMs: 0, pollsUntilReset: 0, wantedUntilReset: 0 },
    plannedSkewsMs: [],
    intervalBeforeMs: 0,
    profile: UNTAUGHT,
    skewMs: 0,
    hasDate: null,
    newest: null,
    sightings: [],
    leadsMs: [],
    unfitPolls: 0,
    sightingSkewMs: 0,
    aheadMs: [],
    itemsSinceCursor: 0,
    endedEarly: false,
    blockedUntilMs: 0,
    spentUntilMs: 0,
    pausedSinceMs: null,
    holds: { pause: null, outage: null },
    cursorRefused: false,
    probedMs: 0,
    cursorSeen: null,
    failedChecks: { inARow: 0, againMs: 0 },
    backfillRetryMs: 0,
    backfillFailures: 0,
    upstream: 'waiting',
    lastGoodPollMs: null,
    failuresInARow: 0,
    keyRefusalsInARow: 0,
    failingSinceMs: null,
    classifier: INITIAL_CLASSIFIER,
    retries: { refused: UNTOUCHED, failed: UNTOUCHED },
    brokenInARow: 0,
    refusedInARow: 0,
    lastSeenMs: 0,
    usedCursors: [],
    knownOverflows: 0,
    arrivals: [],
    refunds: [],
    quotaDrift: null,
  }
}
