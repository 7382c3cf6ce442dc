/**
 * What the poller knows and what can happen to it: the vocabulary of the state machine. Owns types and constants.
 * Refuses to do anything; `step.ts` decides, `poller.ts` acts.
 */
import type { Calendar } from '../../core/calendar/calendar.ts'
import type { Disclosure } from '../../core/disclosure.ts'
import type { GapCause } from '../../core/event.ts'
import { firstProfile, type Profile } from '../../governor/arrivals/profile.ts'
import type { QuotaReset } from '../../governor/quota/ledger.ts'
import { type RetryAllowance, UNTOUCHED } from '../../governor/quota/retry-allowance.ts'
import {
  type Cause,
  type ClassifierState,
  INITIAL_CLASSIFIER,
} from '../../governor/quota/throttle-classifier.ts'
import type { DayWalks } from '../../governor/schedule/daily-reconciliation.ts'
import type { Pacing, PollPlan } from '../../governor/schedule/pacing.ts'
import type { Rounds } from '../../governor/schedule/rescans.ts'
import type { Chance } from '../../lifecycle/clock.ts'
import type { Commit, Head, Ledger, Purpose, Refund, RejectedItem, WriterState } from '../../log/log.ts'
import { unusedState } from '../../log/writer-state.ts'
import type { PollResult } from '../../obs/metrics.ts'
import type { ListQuery } from '../../upstream/client.ts'
import type { FundOutcome } from '../../upstream/fund-client.ts'
import type { Outcome } from '../../upstream/outcome.ts'

/** The states, in the order of a quiet life. */
export const stateNames = [
  'standby',
  'claiming',
  'catching-up',
  'polling',
  'filling',
  'sweeping',
  'backfilling',
  'releasing',
] as const
export type StateName = (typeof stateNames)[number]

/** How upstream treats us, for `GET /v1/status`. */
export type UpstreamHealth = 'ok' | 'throttled' | 'quota' | 'unauthorised' | 'failing' | 'waiting'

/** An item revision that is held and not yet published. */
export interface HeldItem {
  disclosure: Disclosure
  /** The item as it came, on one line. */
  text: string
  hash: string
  /** 1 for the first content of this guid. */
  revision: number
  /** When it was first held, ms since 1970, our clock. */
  heldMs: number
}

/** A page after the shell compared it with what is already published. */
export interface ReadPage {
  /** Revisions that are not published yet, the oldest of the page first. */
  fresh: HeldItem[]
  /** guids of every readable item of the page. */
  guids: string[]
  /** Upstream times of every readable item, in the same order, ms since 1970. */
  times: number[]
  /** Items on the page, unreadable ones too. */
  count: number
  duplicates: number
  rejected: RejectedItem[]
  nextCursor: string | null | undefined
  latestCursor: string | null
  hasMore: boolean | undefined
  warnings: string[]
}

/** How a request ended, its page already held against the copy. */
export type Answer = Outcome<ReadPage>

/** A walk over pages, from the first to `nextCursor: null`. */
export interface Walk {
  /**
   * `fill` follows an overflowing poll, `gap` retries an open gap, `sweep` follows a burst, a `round` comes by schedule, a
   * `day` is read when its release window is over.
   */
  kind: 'fill' | 'gap' | 'sweep' | 'round' | 'day' | 'backfill'
  purpose: Purpose
  fromMs: number
  toMs: number | null
  pageCursor: string | null
  seenCursors: string[]
  /** guids met in this walk: a page that brings none but these goes in circles. */
  guids: ReadonlySet<string>
  pages: number
  strayPages: number
  failures: number
  held: HeldItem[]
  /** The latest revision of each guid that this walk has held, published or not. */
  latest: ReadonlyMap<string, HeldItem>
  rejected: RejectedItem[]
  /** Items published by this walk so far. */
  published: number
  startedMs: number
  /** Everything up to here is covered by the cursor of the poll that it follows; ms since 1970, upstream's clock. */
  upToMs: number
  /** guids of that poll: a fill that meets none of them has not walked where it should. */
  mustMeet: readonly string[]
  /** The gap it works on; null while none is open. */
  gapId: string | null
  cause: GapCause
  /** For a fill: what its first commit does to the head. Taken out when that commit is queued. */
  firstHead: Commit['head'] | null
  /** For a fill: the time whose items its poll left out, by upstream's clock, ms since 1970; else null. */
  unread: { fromMs: number; toMs: number } | null
  /** For the walk over a day: its date in London, and whether it goes on where an earlier one stopped; else null. */
  day: { date: string; isResumed: boolean } | null
}

export interface IngestState {
  name: StateName
  /** The head as it will be when every queued commit is durable. */
  head: Head
  ledger: Ledger
  /** Commits in order; the first is in flight when `committing`. */
  queue: QueuedCommit[]
  committing: boolean
  /** What the request in flight asks; null when none is. */
  request: { purpose: Purpose; query: ListQuery } | null
  walk: Walk | null
  nextPollMs: number
  /** What was planned with the last poll. */
  plan: PollPlan
  /** The interval that was planned with the poll before it, ms. */
  intervalBeforeMs: number
  /** When items arrive, as far as it is learnt. */
  profile: Profile
  /** Upstream's clock minus ours by its last good poll, ms; 0 where they agree. */
  skewMs: number
  /** Nothing is sent before this moment. */
  blockedUntilMs: number
  /** The poll's cursor was refused: the next request asks for a new one. */
  cursorRefused: boolean
  backfillRetryMs: number
  /** Tries of the backfill in a row that came to nothing. */
  backfillFailures: number
  upstream: UpstreamHealth
  /** Our clock, ms since 1970; null before the first. */
  lastGoodPollMs: number | null
  /** Failures without a good answer between them, 429s apart. */
  failuresInARow: number
  /** Of the failures in a row, those of a refused key. */
  keyRefusalsInARow: number
  /** Since when there was no good answer, our clock; 429s apart. Null while there is no trouble. */
  failingSinceMs: number | null
  /** State of the 429 classifier. */
  classifier: ClassifierState
  /** What retries sooner than the next poll have taken, after 429s and after other failures. */
  retries: { refused: RetryAllowance; failed: RetryAllowance }
  /** Commits and spends in a row that broke the writer. */
  brokenInARow: number
  /** Polls in a row whose cursor was refused although it was new. */
  refusedInARow: number
  /** Our clock at the last input: a clock that was set back shows. */
  lastSeenMs: number
  /** Cursors that polls have answered, newest last. */
  usedCursors: string[]
  /** Polls in a row that announced more and brought nothing unknown. */
  knownOverflows: number
  /** What the latest polls brought, oldest first: a burst shows. */
  arrivals: readonly { atMs: number; items: number }[]
  refunds: Refund[]
  /** What upstream reports as used minus our count, over the quota; null while it reports nothing. */
  quotaDrift: number | null
}

/** What the decisions depend on and never changes. */
export interface IngestConfig {
  pageSize: number
  weeklyQuota: number
  quotaReset: QuotaReset
  pacing: Pacing
  /** Pause after a fill, so that the plan's bucket is full for the next one; ms. */
  breathMs: number
  /** The re-reads that the plan pays for, after bursts too; null where it pays for none. */
  rounds: Rounds | null
  /** The walks over whole days that the plan pays for; null where it pays for none. */
  dayWalks: DayWalks | null
  /** How far back the very first start reads, ms. */
  backfillMs: number
  calendar: Calendar
  chance: Chance
}

/** A commit that waits its turn, with the purpose of the request that brought it. */
export interface QueuedCommit {
  purpose: Purpose
  commit: Commit
}

/** What can happen. Each carries our time in ms since 1970. */
export type Input = { nowMs: number } & (
  | { type: 'started' }
  | { type: 'elected' }
  | { type: 'claimed'; writer: WriterState }
  | { type: 'copied' }
  | { type: 'woke' }
  | { type: 'answered'; answer: Answer; spentMs: number; ledger: Ledger }
  | { type: 'committed'; writer: WriterState }
  | { type: 'proxied'; outcome: FundOutcome; spentMs: number; ledger: Ledger }
  | { type: 'broke'; code: 'unknown' | 'fenced' }
  | { type: 'lost' }
  | { type: 'stopped' }
)
export type InputType = Input['type']

/** What the shell is to do. */
export type Action =
  | { type: 'campaign' }
  | { type: 'claim' }
  | { type: 'await-copy'; sequence: number }
  /** Replaces the wake-up asked for before. */
  | { type: 'wake'; atMs: number }
  | { type: 'request'; purpose: Purpose; query: ListQuery }
  | { type: 'commit'; queued: QueuedCommit }
  /** Stops the request in flight; its answer no longer matters. */
  | { type: 'abandon' }
  | { type: 'release' }
  /** `cause` is the verdict on a 429; absent after everything else. */
  | { type: 'tally'; purpose: Purpose; result: PollResult; cause?: Cause }
  | { type: 'report'; level: 'info' | 'warn' | 'error'; event: string; fields: Record<string, unknown> }
  /** Ends the process: what is asked for cannot be done. */
  | { type: 'halt'; message: string; hint: string }

/** One call of `step`: a draft of the next state and the actions so far. Handlers replace fields, never mutate inside. */
export interface Turn {
  state: IngestState
  actions: Action[]
  readonly config: IngestConfig
  readonly nowMs: number
}

/** How long known items of an overflowing poll are held for the fill before they are published without it, ms. */
export const HOLD_MS = 2000
/** A fill starts this long before the last clean poll: insertion order is not time order. */
export const FILL_MARGIN_MS = 15 * 60_000

/** When the next poll is due, ms since 1970; null where this process does not poll. A walk under way may hold it up. */
export function nextPollAtMs({
  nextPollMs,
  blockedUntilMs,
}: Pick<IngestState, 'nextPollMs' | 'blockedUntilMs'>): number | null {
  return nextPollMs === 0 ? null : Math.max(nextPollMs, blockedUntilMs)
}

/** What a log that was never used says; no request is made before a claim has replaced it. */
const NOTHING_YET = unusedState('')
/** What is believed before anything was learnt. */
export const UNTAUGHT: Profile = firstProfile()

/** The state before anything happened. */
export function initialState(): IngestState {
  return {
    name: 'standby',
    head: NOTHING_YET.head,
    ledger: NOTHING_YET.ledger,
    queue: [],
    committing: false,
    request: null,
    walk: null,
    nextPollMs: 0,
    plan: { intervalMs: 0, pollsUntilReset: 0 },
    intervalBeforeMs: 0,
    profile: UNTAUGHT,
    skewMs: 0,
    blockedUntilMs: 0,
    cursorRefused: false,
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
