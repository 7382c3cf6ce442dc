/**
 * Checks a finished world against the sandbox's own record: published items = log + open gaps + rejected, each revision
 * once, no missing sequence, no limit exceeded. One table lists what polling cannot see by design; anything else fails.
 */
import { contentHash } from '../../../src/core/disclosure.ts'
import { AMENDED, type Committed, GAP_OPENED, isGap, revisionOf } from '../../../src/core/event.ts'
import { plans } from '../../../src/core/plans.ts'
import { rescansOf } from '../../../src/governor/schedule/rescans.ts'
import type { TruthItem } from '../../../src/sandbox/market/market.ts'
import type { WorldPlan, WorldRun } from './sandbox-world.ts'

/** Items that no client of this API can find, with the reason. Any other missing item is a defect. */
export const BY_DESIGN = {
  'before-the-cursor':
    'visible before the first cursor was received, without a backfill: the stream starts at its cursor',
  'gone-unseen':
    'left the listings, or was replaced by other content of the same guid, before any complete response contained it',
  'behind-the-cursor':
    'arrived or changed in place behind existing cursors, where the plan affords no re-scans, or later than both re-scans and daily reconciliation cover',
} as const
export type Excuse = keyof typeof BY_DESIGN

/** Counts of one world, or summed over many. */
export interface WorldCounts {
  /** Revisions that the market listed after the start. */
  shown: number
  /** Revisions in the log, including backfilled ones. */
  published: number
  rejected: number
  gapsOpened: number
  gapsLeft: number
  /** Revisions inside a gap that is still open. */
  inOpenGaps: number
  /** Revisions that polling missed for a reason in the table. */
  excused: Record<Excuse, number>
  requests: number
  /** Injected faults that a request hit. */
  faultsMet: number
  /** Units on our count beyond the sandbox's. */
  unitsOver: number
}

/** The result of one world. */
export interface WorldVerdict extends WorldCounts {
  /** One sentence per broken promise; empty if none was broken. */
  broken: string[]
}

/** Date headers and timestamps have whole seconds: an item that arrives within this time counts as on time. */
const SAME_SECOND_MS = 1000

/** Checks one world. */
export function judgeWorld(plan: WorldPlan, run: WorldRun): WorldVerdict {
  const excused: Record<Excuse, number> = {
    'before-the-cursor': 0,
    'gone-unseen': 0,
    'behind-the-cursor': 0,
  }
  const published = run.events.filter((event) => !isGap(event.type))
  const gaps = gapsOf(run)
  let inOpenGaps = 0
  const missing: string[] = []
  const held = new Set(published.map(keyOfEvent))
  for (const item of expectedItems(plan, run)) {
    if (held.has(keyOf(item))) continue
    const excuse = excuseFor(item, plan, run)
    const timeMs = Date.parse(item.timestamp)
    if (run.head.openGaps.some(({ from, to }) => Date.parse(from) <= timeMs && timeMs <= Date.parse(to)))
      inOpenGaps += 1
    else if (excuse !== null) excused[excuse] += 1
    else missing.push(`${keyOf(item)} of ${item.timestamp}, inserted ${item.insertedAt}`)
  }
  const ledgerUnits = [...run.ledger.values()].flatMap((hour) => Object.values(hour))
  const unitsOver = ledgerUnits.reduce((sum, units) => sum + units, 0) - run.usage.units
  return {
    broken: [
      ...(run.stuck === null ? [] : [`not at rest: ${run.stuck}`]),
      ...faultLine('missing', missing),
      ...contentFaults(run, published),
      ...orderFaults(run),
      ...rejectedFaults(run),
      ...gaps.broken,
      ...usageFaults(run, unitsOver),
    ],
    shown: run.truth.items.length,
    published: published.length,
    rejected: run.rejected.length,
    gapsOpened: gaps.opened,
    gapsLeft: run.head.openGaps.length,
    inOpenGaps,
    excused,
    requests: run.usage.requests,
    faultsMet: Object.values(run.usage.faults).reduce((sum, met) => sum + met, 0),
    unitsOver,
  }
}

/** Items that the market listed from the start to the last poll, and the part of the backlog within the backfill. */
function expectedItems(plan: WorldPlan, run: WorldRun): TruthItem[] {
  const backlogFromMs = firstPollMs(run) - plan.backfillMs + SAME_SECOND_MS
  const asked = run.truth.backlog.filter(
    (item) => plan.backfillMs > 0 && Date.parse(item.timestamp) >= backlogFromMs,
  )
  return [...asked, ...run.truth.items].filter((item) => Date.parse(item.insertedAt) <= run.coveredMs)
}

function firstPollMs(run: WorldRun): number {
  return run.lines.find(({ event }) => event === 'poll.done')?.marketMs ?? Number.POSITIVE_INFINITY
}

/** The reason in the table for which this revision cannot be in the log, or null. */
function excuseFor(item: TruthItem, plan: WorldPlan, run: WorldRun): Excuse | null {
  const insertedMs = Date.parse(item.insertedAt)
  const timeMs = Date.parse(item.timestamp)
  if (plan.backfillMs === 0 && insertedMs <= firstPollMs(run)) return 'before-the-cursor'
  if (wasSeen(item, run)) return null
  const later = run.truth.items.some(
    (other) => other.guid === item.guid && other.revision > item.revision && other !== item,
  )
  if (item.vanishedAt !== null || later) return 'gone-unseen'
  const isBehind = insertedMs - timeMs > SAME_SECOND_MS
  const rescans = rescansOf({ weeklyQuota: plan.weeklyQuota, pageSize: plans[plan.plan].pageSize })
  const isExpected = rescans !== null && insertedMs - timeMs <= rescans.reachMs
  return isBehind && !isExpected && !wasReadAgain(insertedMs, timeMs, run) ? 'behind-the-cursor' : null
}

/** True when a response that arrived completely contained this content. */
function wasSeen(item: TruthItem, run: WorldRun): boolean {
  const insertedMs = Date.parse(item.insertedAt)
  return run.pages.some(
    ({ atMs, items }) =>
      atMs >= insertedMs &&
      items.some(
        (seen) =>
          (seen as { guid?: unknown } | null)?.guid === item.guid && contentHash(seen) === item.contentHash,
      ),
  )
}

/** True when a page scan that started after the insertion has completely read that time. */
function wasReadAgain(insertedMs: number, timeMs: number, run: WorldRun): boolean {
  return run.lines.some(({ event, fields, marketMs }) => {
    if (event !== 'page_scan.completed') return false
    const beganMs = marketMs - Number(fields.durationMs)
    const fromMs = Date.parse(String(fields.from))
    const toMs = fields.to === null ? Number.POSITIVE_INFINITY : Date.parse(String(fields.to))
    return beganMs >= insertedMs && fromMs <= timeMs && timeMs <= toMs
  })
}

/** Checks that nothing is published twice, nothing was invented, and revisions count from 1. */
function contentFaults(run: WorldRun, published: readonly Committed[]): string[] {
  const shown = new Set([...run.truth.items, ...run.truth.backlog].map(keyOf))
  const seen = new Set<string>()
  const latest = new Map<string, number>()
  const twice: string[] = []
  const invented: string[] = []
  const misnumbered: string[] = []
  for (const event of published) {
    const key = keyOfEvent(event)
    if (seen.has(key)) twice.push(key)
    seen.add(key)
    if (!shown.has(key)) invented.push(key)
    const { guid } = JSON.parse(event.data) as { guid: string }
    const revision = revisionOf(event.id, guid)
    const before = latest.get(guid) ?? 0
    if (revision !== before + 1 || (event.type === AMENDED) !== revision > 1) misnumbered.push(event.id)
    latest.set(guid, revision)
  }
  return [
    ...faultLine('twice', twice),
    ...faultLine('never shown', invented),
    ...faultLine('misnumbered', misnumbered),
  ]
}

/** Checks that sequences start at 1 without a hole, ordered in a commit by time, then guid, except for `late` items. */
function orderFaults(run: WorldRun): string[] {
  const holes = run.events
    .filter((event, index) => event.sequence !== index + 1 || event.epoch !== run.events[0]?.epoch)
    .map((event) => event.id)
  const unordered: string[] = []
  const misjudged: string[] = []
  let latestMs = 0
  for (const commit of run.commits) {
    let before: Committed | null = null
    for (const event of commit) {
      if (isGap(event.type)) continue
      const isAhead = event.aheadof !== undefined
      if (event.late !== (!isAhead && event.timeMs < latestMs)) misjudged.push(event.id)
      if (!isAhead) latestMs = Math.max(latestMs, event.timeMs)
      const isBehind =
        before !== null &&
        (Date.parse(event.time) - Date.parse(before.time) || compareText(event.id, before.id)) < 0
      if (isBehind) unordered.push(event.id)
      before = event
    }
  }
  return [
    ...faultLine('holes', holes),
    ...faultLine('out of order', unordered),
    ...faultLine('late misjudged', misjudged),
  ]
}

function compareText(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0
}

/** Every unreadable text once, and no other. The same text again is the same item. */
function rejectedFaults(run: WorldRun): string[] {
  const kept = run.rejected.map(({ raw }) => raw)
  const startMs = firstPollMs(run)
  const shown = new Set(run.truth.malformed.map(({ raw }) => raw))
  const expected = run.truth.malformed.filter(({ insertedAt }) => {
    const insertedMs = Date.parse(insertedAt)
    return insertedMs > startMs && insertedMs <= run.coveredMs
  })
  return [
    ...faultLine(
      'not rejected',
      [...new Set(expected.map(({ raw }) => raw))].filter((raw) => !kept.includes(raw)),
    ),
    ...faultLine(
      'rejected twice',
      kept.filter((raw, index) => kept.indexOf(raw) !== index),
    ),
    ...faultLine(
      'rejected though readable',
      kept.filter((raw) => !shown.has(raw)),
    ),
  ]
}

/** Checks that every opened gap is closed once or still open, and that each has its gap event. */
function gapsOf(run: WorldRun): { broken: string[]; opened: number } {
  const open = new Set<string>()
  const broken: string[] = []
  let opened = 0
  for (const event of run.events.filter(({ type }) => isGap(type))) {
    const { id } = JSON.parse(event.data) as { id: string }
    if (event.type === GAP_OPENED) {
      if (open.has(id)) broken.push(`gap ${id} opened twice`)
      opened += 1
      open.add(id)
    } else if (!open.delete(id)) broken.push(`gap ${id} closed, but was not open`)
  }
  const inHead = run.head.openGaps.map(({ id }) => id)
  broken.push(
    ...faultLine(
      'gaps open in the log only',
      [...open].filter((id) => !inHead.includes(id)),
    ),
  )
  broken.push(
    ...faultLine(
      'gaps open in the head only',
      inHead.filter((id) => !open.has(id)),
    ),
  )
  return { broken, opened }
}

function usageFaults({ usage }: WorldRun, unitsOver: number): string[] {
  const broken: string[] = []
  if (usage.violations > 0)
    broken.push(`${usage.violations} protocol violations: ${JSON.stringify(usage.refused)}`)
  if (usage.throttled > 0) broken.push(`${usage.throttled} real throttles`)
  if (usage.quotaRefused > 0) broken.push(`${usage.quotaRefused} real quota refusals`)
  if (usage.unauthorised > 0) broken.push(`${usage.unauthorised} requests without a valid key`)
  if (unitsOver < 0) broken.push(`the ledger is ${-unitsOver} units below upstream's count`)
  return broken
}

function keyOf({ guid, contentHash: hash }: Pick<TruthItem, 'guid' | 'contentHash'>): string {
  return `${guid} ${hash}`
}

function keyOfEvent(event: Committed): string {
  const item = JSON.parse(event.data) as { guid: string }
  return `${item.guid} ${contentHash(item)}`
}

/** Formats a count with its first members. */
function faultLine(what: string, members: readonly string[]): string[] {
  return members.length === 0 ? [] : [`${members.length} ${what}: ${members.slice(0, 3).join(' | ')}`]
}
