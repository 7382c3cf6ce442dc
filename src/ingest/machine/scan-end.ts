/**
 * Publishes the items that a page scan fetched, and records in the same commit what the scan has achieved. The commit closes
 * or shortens a gap (a span of time in which items may be missing), advances the backfill, ends a re-scan, or leaves the
 * rest pending. A page scan reads a time range of the upstream list page by page.
 */
import { type OpenGap, timesOf } from '../writer-state/head.ts'
import { dayAfterReading } from './daily-reconciliation.ts'
import { fromFirstBackfillPage, type UpstreamRange } from './first-start.ts'
import {
  closed,
  fetchedBy,
  fromFirstPage,
  goingOn,
  keptPage,
  leftOutByPoll,
  postponeBackfill,
  postponeDay,
  postponeGap,
  postponeRescan,
  publishBehindGap,
  roundAfter,
  sweepAfter,
} from './postpone.ts'
import { type HeadPatch, needsChain, newGap, publish } from './publish.ts'
import type { PageScan, StepContext } from './state.ts'

/** Why a scan is postponed that may spend no more units. */
export const OVER_BUDGET = 'the quota reserved for fills and re-scans is used up'

/** Publishes a scan that has read its range to the end. */
export function publishComplete(context: StepContext, scan: PageScan): void {
  const gap = context.state.head.openGaps.find(({ id }) => id === scan.gapId)
  if (gap !== undefined) return publishGap(context, scan, gap)
  const fetched = fetchedBy(scan)
  switch (scan.kind) {
    case 'overlap_rescan':
      return publish(context, { ...fetched, last: sweepAfter(context, scan) })
    case 'scheduled_rescan':
      return publish(context, { ...fetched, last: { round: roundAfter(context, scan) } })
    case 'daily_reconciliation':
      return publishDay(context, scan)
    case 'backfill':
      return publishBackfill(context, scan)
    default:
      return publishFill(context, scan)
  }
}

/** Publishes a scan that cannot continue for now; what it has not read stays pending and is tried after `retryMs`. */
export function publishPostponed(
  context: StepContext,
  scan: PageScan,
  reason: string,
  retryMs: number,
): void {
  switch (scan.kind) {
    case 'overlap_rescan':
    case 'scheduled_rescan':
      return postponeRescan(context, scan, retryMs, reason === OVER_BUDGET)
    case 'daily_reconciliation':
      return postponeDay(context, scan)
    case 'backfill':
      postponeBackfill(context, scan, retryMs, reason === OVER_BUDGET)
      context.actions.push({ type: 'wake', atMs: context.state.nextPollMs })
      return
    default:
      if (scan.gapId === null) publishUnfinished(context, scan, context.nowMs + retryMs)
      else postponeGap(context, scan, retryMs, reason === OVER_BUDGET)
  }
}

function coveredBy({ fromMs, coveredToMs: toMs }: PageScan): UpstreamRange {
  return { fromMs, toMs }
}

/** Publishes what a fill has fetched so far behind a new open gap; the poll cursor moves on with the same commit. */
export function publishUnfinished(context: StepContext, scan: PageScan, retryAtMs: number): void {
  const hasItems = scan.mustMeet.length > 0 && ({ hasItems: true } as const)
  const proof = scan.proof.length > 0 && { proof: scan.proof }
  const opened = { ...newGap(context, scan.cause, coveredBy(scan)), ...hasItems, ...proof, retryAtMs }
  const gap = goingOn(opened, scan)
  publishBehindGap(context, scan, gap, scan.firstHead ?? {})
  const published = scan.fetched.length
  context.state.scan = { ...scan, gapId: gap.id, fetched: [], rejected: [], published, firstHead: null }
}

/** Publishes what a scan has fetched whose gap is open; the scan goes on, after a crash from its next page. */
export function publishPart(context: StepContext, scan: PageScan): void {
  const found = leftOutByPoll(scan)
  const openGaps = context.state.head.openGaps.map((gap) =>
    gap.id === scan.gapId ? { ...goingOn(gap, scan), found: gap.found + found } : gap,
  )
  publish(context, {
    purpose: scan.purpose,
    items: scan.fetched,
    rejected: scan.rejected,
    last: { openGaps },
  })
  context.state.scan = { ...scan, fetched: [], rejected: [], published: scan.published + scan.fetched.length }
}

/** Publishes what a scan has fetched so far; the scan goes on. */
export function publishFetched(context: StepContext, scan: PageScan): void {
  const { fetched, rejected, published } = scan
  if (fetched.length + rejected.length === 0) return
  if (scan.gapId !== null) return publishPart(context, scan)
  publish(context, { ...fetchedBy(scan), last: keptPage(context, scan) })
  context.state.scan = { ...scan, fetched: [], rejected: [], published: published + fetched.length }
}

/** Closes the gap, or moves its start to the end of the range where the scan read only the first day of it. */
function publishGap(context: StepContext, scan: PageScan, gap: OpenGap): void {
  const { openGaps } = context.state.head
  const found = leftOutByPoll(scan)
  if (scan.kind === 'gap_retry' && scan.toMs !== null && scan.toMs < timesOf(gap).toMs) {
    const { hasItems, ...whole } = fromFirstPage(gap)
    const stillHas = hasItems && scan.guids.size === 0 && { hasItems }
    const rest = { ...whole, ...stillHas, found: gap.found + found, doneToMs: scan.toMs, attempts: 0 }
    const last = { openGaps: openGaps.map((open) => (open.id === gap.id ? rest : open)) }
    return publish(context, { ...fetchedBy(scan), last })
  }
  publish(context, {
    ...fetchedBy(scan),
    closing: { gap: closed(context, gap, found), as: 'filled' },
    last: { openGaps: openGaps.filter(({ id }) => id !== gap.id) },
  })
}

/** A fill that needs several commits is published between the events of a gap: readers can see that it is not complete. */
function publishFill(context: StepContext, scan: PageScan): void {
  const { openGaps } = context.state.head
  if (scan.kind !== 'fill' || !needsChain(scan.fetched)) {
    return publish(context, { ...fetchedBy(scan), first: scan.firstHead ?? {} })
  }
  const gap = newGap(context, scan.cause, coveredBy(scan))
  publish(context, {
    ...fetchedBy(scan),
    opening: [gap],
    closing: { gap: closed(context, gap, leftOutByPoll(scan)), as: 'filled' },
    first: { ...scan.firstHead, openGaps: [...openGaps, gap] },
    last: { openGaps },
  })
}

function publishBackfill(context: StepContext, scan: PageScan): void {
  const { backfill } = context.state.head
  const untilMs = backfill?.untilMs ?? 0
  const doneToMs = scan.toMs ?? untilMs
  context.state.backfillFailures = 0
  const isDone = backfill === null || doneToMs >= untilMs
  const left = isDone ? null : { ...fromFirstBackfillPage(backfill), doneToMs }
  publish(context, { ...fetchedBy(scan), last: { backfill: left } })
}

/**
 * Publishes what the backfill has read of its day before this process stops, with the page to go on with: a restart reads
 * none of it again. Not while other commits are under way, which the stop would have to wait for.
 */
export function keepBackfillPage(context: StepContext): void {
  const { scan, queue } = context.state
  if (scan === null || queue.length > 0) return
  const last = keptPage(context, scan)
  if (last.backfill !== undefined) publish(context, { ...fetchedBy(scan), last })
}

/** Notes that the day was read. A scan from its first page that also read the range of the next scheduled re-scan replaces it. */
function publishDay(context: StepContext, scan: PageScan): void {
  const { day } = scan
  if (day === null) return
  const { round } = context.state.head
  const reachMs = context.config.rounds?.reachMs ?? 0
  const replacesRescan =
    round !== null &&
    !day.isResumed &&
    round.fromMs - reachMs >= scan.fromMs &&
    scan.coveredToMs <= (scan.toMs ?? scan.coveredToMs)
  const last: HeadPatch = replacesRescan ? { round: roundAfter(context, scan) } : {}
  const walk = dayAfterReading(context, scan)
  publish(context, { ...fetchedBy(scan), last, day: { date: day.date, walk } })
}
