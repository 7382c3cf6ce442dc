/**
 * Checks what the poller made of a world that breaks assumptions. Each content that an answer had, or cut off visibly, is
 * held, rejected or inside an open gap. What was listed and in no answer may be missing where the poller says so.
 */
import { createCalendar } from '../../../../src/core/calendar/calendar.ts'
import { isGap } from '../../../../src/core/event.ts'
import { unreconciledRanges } from '../../../../src/ingest/reconciliation/unreconciled.ts'
import type { World } from '../ingest-world.ts'
import type { FinishedScan, FreeUpstream, Listed } from './free-upstream.ts'

/** Items further ahead of upstream's present than this are stamped ahead, ms. */
const AHEAD_MS = 60_000
/** What a process received is committed within this time: items of a poll wait two seconds for its fill. */
const COMMITTED_MS = 5_000
const calendar = createCalendar()

/** How the poller names a content that no answer showed. */
export const namings = [
  // In a span of `unreconciled`: polled, and not read again since.
  'unreconciled',
  // The day's reconciliation is complete, and at its `walkedAt` upstream did not list the content, or withheld it.
  'unlistedWhenReconciled',
  // Dated before the stream begins, `since` of the first day's report: no scan looks there.
  'beforeStart',
  // Dated after upstream's present: it is polled when its time comes.
  'aheadOfPresent',
] as const
/** One of them. */
export type Naming = (typeof namings)[number]

/** What became of the contents of a world. */
export interface ContentVerdict {
  /** A sentence for each broken promise. */
  broken: string[]
  /** Contents that an answer could have shown. */
  listed: number
  held: number
  inOpenGaps: number
  named: Record<Naming, number>
}

/** What is true of a world's clocks. */
interface WorldClocks {
  /** When it began neither our clock nor upstream's `Date` was right. */
  beganWithoutClock: boolean
  /** At each time one of them was right. */
  hasRightClock: boolean
}

/** Checks the contents of a finished world. */
export function contentVerdict(world: World, upstream: FreeUpstream, clocks: WorldClocks): ContentVerdict {
  const { store } = world
  const published = store.events.filter(({ type }) => !isGap(type)).map(({ data }) => data)
  const held = new Set([...published, ...store.rejected.map(({ raw }) => raw)])
  const livedMs = upstream.answeredMs.filter((ms) => livedOn(world, ms))
  const listed = upstream.entries.filter((entry) => couldBeShown(entry, world, livedMs))
  const named: Record<Naming, number> = {
    unreconciled: 0,
    unlistedWhenReconciled: 0,
    beforeStart: 0,
    aheadOfPresent: 0,
  }
  const gaps = world.openGaps.map(({ from, to }) => ({ fromMs: Date.parse(from), toMs: Date.parse(to) }))
  const missing = listed.filter(({ text }) => !held.has(text))
  const outside = missing.filter(({ item }) => !gaps.some((gap) => isWithin(item.timeMs, gap)))
  const namingOf = namer(world, upstream, clocks)
  const lost = outside.filter((entry) => {
    const naming = namingOf(entry)
    if (naming !== null) named[naming] += 1
    return naming === null
  })
  const firstMs = world.firstAnswerMs ?? Number.POSITIVE_INFINITY
  // The stream begins with the first answer: what was listed before and is dated before is not of it.
  const isEarlier = ({ item }: Listed): boolean =>
    !world.options.backfillMs && item.fromMs <= firstMs && item.timeMs < firstMs
  const earlier = new Set(upstream.entries.filter(isEarlier).map(({ text }) => text))
  const outOfSequence = store.events.filter(({ sequence }, index) => sequence !== index + 1)
  return {
    broken: [
      ...line(
        'shown and not held',
        shownTo(world).filter((text) => !held.has(text) && !earlier.has(text)),
      ),
      ...line('lost', lost.map(described)),
      ...line('published twice', repeated(published)),
      ...line(
        'out of sequence',
        outOfSequence.map(({ id }) => id),
      ),
      ...line('days complete before they were over', clocks.hasRightClock ? completeTooSoon(world) : []),
    ],
    listed: listed.length,
    held: listed.length - missing.length,
    inOpenGaps: missing.length - outside.length,
    named,
  }
}

/** A sentence of so many broken promises with the first three; none where there are none. */
export function line(what: string, members: readonly string[]): string[] {
  return members.length === 0 ? [] : [`${members.length} ${what}: ${members.slice(0, 3).join(' | ')}`]
}

/** An item for such a sentence. */
export function described({ item, text }: Listed): string {
  const at = (ms: number): string => new Date(ms).toISOString()
  const { headline } = JSON.parse(text) as { headline: string }
  return `${headline} of ${at(item.timeMs)}, listed ${at(item.fromMs)}`
}

/** Texts that a process received and lived to commit; the first answer only brings a cursor. */
function shownTo(world: World): string[] {
  const lived = world.shown.filter(({ atMs }) => atMs !== world.firstAnswerMs && livedOn(world, atMs))
  return [...new Set(lived.flatMap(({ texts }) => texts))]
}

/** False where the process that had an answer died within that time, by default before it could commit. */
export function livedOn({ claimsMs }: World, answerMs: number, withinMs = COMMITTED_MS): boolean {
  return !claimsMs.some((ms) => ms > answerMs && ms <= answerMs + withinMs)
}

/**
 * True where upstream gave a good answer of the present while it listed the content, the first answer included. `answeredMs`:
 * those whose process lived on. What only a dying one was shown, and changed before the next poll, nobody can hold.
 */
function couldBeShown({ item }: Listed, world: World, answeredMs: readonly number[]): boolean {
  const fromMs = Math.max(item.fromMs, world.firstAnswerMs ?? Number.POSITIVE_INFINITY)
  let [low, high] = [0, answeredMs.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((answeredMs[middle] ?? 0) >= fromMs) high = middle
    else low = middle + 1
  }
  return (answeredMs[low] ?? Number.POSITIVE_INFINITY) < item.toMs
}

/** Names a content that is neither held nor in an open gap; null where the poller does not name it. */
function namer(
  world: World,
  upstream: FreeUpstream,
  { beganWithoutClock }: WorldClocks,
): (entry: Listed) => Naming | null {
  const { head } = world.store
  const { rightMs: skewMs } = world.lastGood
  const presentMs = world.ourMs + skewMs
  const unread = unreconciledRanges(head, { calendar, presentMs, skewMs })
  const readings = reconciliationsOf(world, upstream)
  const hidden = upstream.hidden()
  // A clock that runs ahead may have dated the start too late; where no clock is right nothing tells better.
  const countedFromMs = head.countedFromMs ?? Number.NEGATIVE_INFINITY
  const firstMs = beganWithoutClock ? null : world.firstAnswerMs
  const startMs = Math.min(countedFromMs, firstMs ?? Number.POSITIVE_INFINITY)
  const backfilled = backfilledRange(world, upstream)
  return (entry) => {
    const { item } = entry
    const isHistory = backfilled !== null && isWithin(item.timeMs, backfilled)
    const isListedThen = item.fromMs <= (backfilled?.toMs ?? 0) && item.toMs === Number.POSITIVE_INFINITY
    if (isHistory && isListedThen && !beganWithoutClock && !hidden.has(entry)) return null
    if (item.timeMs < startMs) return 'beforeStart'
    // A poll showed that it left this out: only a gap may stand for it. No answer that withheld it may be to blame.
    if (upstream.isOffered(entry) && !hidden.has(entry)) return null
    if (item.timeMs > presentMs + AHEAD_MS) return 'aheadOfPresent'
    if (unread.some((range) => isWithin(item.timeMs, range))) return 'unreconciled'
    const covering = readings.filter((range) => isWithin(item.timeMs, range))
    const isReadable = covering.some(
      ({ beganMs, endedMs, missing }) => item.fromMs <= beganMs && endedMs < item.toMs && !missing.has(entry),
    )
    return covering.length > 0 && !isReadable ? 'unlistedWhenReconciled' : null
  }
}

/** Days whose reconciliation was complete before their release hours ended, by the true time. */
function completeTooSoon({ reports }: World): string[] {
  return reports.flatMap(({ atMs, event, fields }) => {
    if (event !== 'page_scan.completed' || fields.kind !== 'daily_reconciliation') return []
    const date = calendar.londonDate(Date.parse(String(fields.to)) - 1)
    const window = calendar.releaseWindow(date)
    return window !== null && window.toMs > atMs ? [`${date} at ${new Date(atMs).toISOString()}`] : []
  })
}

/** The range before the first answer that the backfill was to read, by the true time; null where it was to read none. */
function backfilledRange({ firstAnswerMs, options }: World, upstream: FreeUpstream) {
  const { backfillMs = 0 } = options
  if (firstAnswerMs === null || backfillMs === 0) return null
  return { fromMs: firstAnswerMs - backfillMs, toMs: firstAnswerMs - upstream.behindMs }
}

/** The complete daily reconciliations, as upstream answered them. */
function reconciliationsOf(world: World, { scans }: FreeUpstream) {
  const complete = world.reports.filter(
    ({ event, fields }) => event === 'page_scan.completed' && fields.kind === 'daily_reconciliation',
  )
  return complete.map(({ atMs, fields }) => {
    const [fromMs, toMs] = [Date.parse(String(fields.from)), Date.parse(String(fields.to))]
    const isSame = (scan: FinishedScan): boolean =>
      scan.fromMs === fromMs && scan.toMs === toMs && scan.endedMs <= atMs
    const scan = scans.findLast(isSame)
    if (scan === undefined) throw new Error('a reconciliation is complete that upstream never answered')
    const { beganMs, endedMs, missing } = scan
    return { fromMs, toMs, beganMs, endedMs, missing }
  })
}

/** Texts that were published again although no other content of their guid came between. */
function repeated(texts: readonly string[]): string[] {
  const latest = new Map<string, string>()
  return texts.filter((text) => {
    const { guid } = JSON.parse(text) as { guid: string }
    const isAgain = latest.get(guid) === text
    latest.set(guid, text)
    return isAgain
  })
}

function isWithin(timeMs: number, { fromMs, toMs }: { fromMs: number; toMs: number }): boolean {
  return fromMs <= timeMs && timeMs <= toMs
}
