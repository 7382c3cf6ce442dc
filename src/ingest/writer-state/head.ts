/**
 * Defines the head: the poller's durable state, except for the ledger of spent quota units. The head holds the upstream
 * cursor, open gaps (spans of time in which items may be missing), pending re-scans, counts by day, and the arrival profile
 * (learnt item rates).
 */
import type { DayRecord } from '../../core/calendar/day-record.ts'
import type { Gap } from '../../core/event.ts'
import { BridgeError } from '../../errors.ts'
import type { Profile } from '../../governor/arrivals/profile.ts'

/** A gap that still waits to be filled, and how the filling goes. */
export interface OpenGap extends Gap {
  attempts: number
  /** Earliest moment of the next try, ms since 1970, our clock. */
  retryAtMs: number
  /** An overflowing page has opened it, so the list has items of it; absent once a scan of it has met one. */
  hasItems?: true
  /** Some guids of that page, of times within the gap: a list that lacks most of them is behind what polls have shown. */
  proof?: readonly string[]
  /** A long gap is filled a day at a time: everything before this time is fetched; ms since 1970, upstream's clock. */
  doneToMs?: number
  /**
   * The page with which the next try continues an interrupted query; absent: it starts with the first page. `toMs`: the
   * query's upper bound, null where it had none, as a fill's.
   */
  next?: { pageCursor: string; toMs: number | null }
}

/** How far the first start has read back. In ms since 1970, upstream's clock. */
export interface Backfill {
  /** Everything before this is fetched. */
  doneToMs: number
  untilMs: number
  /** Not read: it lies between the ranges of two clocks of which either may be right. */
  skip?: { fromMs: number; toMs: number }
  /** The page with which the day that begins at `fromMs` goes on after a stop; absent: it begins with its first page. */
  next?: { fromMs: number; pageCursor: string }
}

/** A pending overlap re-scan after a burst: it finds items that arrived behind the cursor. */
export interface OverlapRescan {
  /** Start of the range, ms since 1970, upstream's clock. */
  fromMs: number
  /** Earliest time of the re-scan, ms since 1970, our clock. */
  dueAtMs: number
  attempts: number
}

/** The scheduled re-scan of recent items. Its range begins where the last one ended. */
export interface ScheduledRescan {
  /** Where the last re-scan ended: the next one reads everything since again. Ms since 1970, upstream's clock. */
  fromMs: number
  /** Earliest moment of the next re-scan, ms since 1970, our clock; null while none is pending. */
  dueAtMs: number | null
  /** When the last poll that brought news began, by upstream's clock, ms since 1970. */
  newsMs: number
  attempts: number
}

/** A poll that upstream answered well. */
export interface GoodPoll {
  /** When it ended, our clock, ms since 1970. */
  atMs: number
  /** Upstream's clock minus ours, ms; 0 where they agree. */
  skewMs: number
  /** The interval to the next poll as it was planned then, ms; absent where an older version wrote it. */
  plannedMs?: number
  /** Which of the two clocks new items have shown to be right; absent where they agree and while it is not known. */
  right?: RightClock
}

/** Our clock, or upstream's `Date`. */
export type RightClock = 'ours' | 'date'

/** From which upstream time on days would be counted by each of two clocks, ms since 1970. */
export interface UnsureStart {
  oursMs: number
  dateMs: number
  /** Upstream's `Date` minus our clock then, ms. */
  skewMs: number
}

/** The page with which the stream began: its items were listed before the stream, so they are not part of it. */
export interface FirstPage {
  /** `contentHash` of each readable item. */
  hashes: readonly string[]
  /** Time of its oldest item, ms since 1970; null where upstream listed nothing beside these items. */
  fromMs: number | null
  /** Set while it is not known which clock was right then: `countedFromMs` is the earlier one of the two. */
  unsureStart?: UnsureStart
}

/** What the last commit left: everything a new writer needs to go on. Stored as one row a field, gap and day. */
export interface Head {
  epoch: string
  /** Of the last event; 0 before the first. */
  sequence: number
  /** Upstream cursor of the next poll; null until the first start has one. Opaque: never parsed or ordered. */
  cursor: string | null
  /** Time of the newest item of the page that gave it, ms since 1970; null where that is not known. */
  cursorTimeMs: number | null
  /** Highest upstream time published, ms since 1970; 0 before the first. What is older than it is `late`. */
  latestTimeMs: number
  /** When the last poll without `hasMore` began, by upstream's clock, ms since 1970; null before the first. */
  lastCleanPollMs: number | null
  /** When a request was last spent, on our clock, ms since 1970; null before the first. */
  lastSpendMs: number | null
  /** The last good poll, at most a minute before the last one of all; null before the first. */
  lastGood: GoodPoll | null
  /** Until when upstream's last `Retry-After` asked to send nothing, our clock, ms since 1970; null before the first. */
  refusedUntilMs: number | null
  openGaps: OpenGap[]
  backfill: Backfill | null
  sweep: OverlapRescan | null
  /** Null before the first item, and where the plan allows no re-scans. */
  round: ScheduledRescan | null
  /** When items arrive, as far as it was learnt; null before anything was. */
  profile: Profile | null
  /** What the last days of London brought, rising by date; a day without anything may be missing. */
  days: readonly DayRecord[]
  /** What the very first answer showed; null before it, and where an older version began the stream. */
  firstPage: FirstPage | null
  /** From which upstream time on days are counted and reconciled; ms since 1970. Null before the first poll. */
  countedFromMs: number | null
}

/** The head of a log that was never written, at that place of the log. */
export function unusedHead(epoch: string, sequence: number): Head {
  return {
    epoch,
    sequence,
    cursor: null,
    cursorTimeMs: null,
    latestTimeMs: 0,
    lastCleanPollMs: null,
    lastSpendMs: null,
    lastGood: null,
    refusedUntilMs: null,
    openGaps: [],
    backfill: null,
    sweep: null,
    round: null,
    profile: null,
    days: [],
    firstPage: null,
    countedFromMs: null,
  }
}

/**
 * The bounds of a gap and when it opened, ms since 1970.
 * @throws BridgeError `log_damaged` where one cannot be read
 */
export function timesOf(gap: Gap): { fromMs: number; toMs: number; openedMs: number } {
  const [fromMs = 0, toMs = 0, openedMs = 0] = [gap.from, gap.to, gap.openedAt].map((text) => {
    const ms = Date.parse(text)
    if (!Number.isNaN(ms)) return ms
    throw new BridgeError('log_damaged', `the stored gap ${gap.id} has an unreadable time "${text}"`, {
      hint: 'Stop, keep a copy of the stored data, and restore the last good backup.',
    })
  })
  return { fromMs, toMs, openedMs }
}
