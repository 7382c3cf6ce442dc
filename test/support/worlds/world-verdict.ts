/**
 * Holds a world that has come to rest against the sandbox's truth: truth = log + open gaps + rejected, each revision
 * once, the sequence without a hole, the limits kept. Owns the table of what polling cannot see by design. Refuses to
 * excuse anything that is not in that table.
 */
import { contentHash } from '../../../src/core/disclosure.ts'
import { AMENDED, type Committed, GAP_OPENED, isGap, revisionOf } from '../../../src/core/event.ts'
import { plans } from '../../../src/core/plans.ts'
import { rescansOf } from '../../../src/governor/schedule/rescans.ts'
import type { TruthItem } from '../../../src/sandbox/market/market.ts'
import type { WorldPlan, WorldRun } from './sandbox-world.ts'

/** What a client of this API cannot know, with the reason. Anything else that is missing is a defect. */
export const BY_DESIGN = {
  'before-the-cursor':
    'visible before the first cursor was taken, and no backfill was asked for: the stream begins with its cursor',
  'gone-unseen':
    'left the listings, or was replaced by other content of the same guid, before any answer that arrived whole showed it',
  'behind-the-cursor':
    'came in, or changed in place, behind cursors already given, where the plan pays for no rounds, or later after its time than a round reaches back and than the walk over its day',
} as const
export type Excuse = keyof typeof BY_DESIGN

/** What there was to count, in one world or summed over many. */
export interface WorldCounts {
  /** Revisions that the market showed after the start. */
  shown: number
  /** Revisions that the log holds, backfilled ones too. */
  published: number
  rejected: number
  gapsOpened: number
  gapsLeft: number
  /** Revisions inside a gap that is still open. */
  inOpenGaps: number
  /** Not seen, for a reason in the table. */
  excused: Record<Excuse, number>
  requests: number
  /** Injected faults that were met. */
  faultsMet: number
  /** Units on our count beyond the sandbox's. */
  unitsOver: number
}

/** What became of one world. */
export interface WorldVerdict extends WorldCounts {
  /** Sentences, one a broken promise; empty where all are kept. */
  broken: string[]
}

/** A date header has whole seconds, and so have timestamps: what comes in so long after its time is still in place. */
const SAME_SECOND_MS = 1000

/** Judges one world. */
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
      ...said('missing', missing),
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

/** What the market showed from the start to the last poll, and of the backlog what the backfill asks for. */
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
  const rounds = rescansOf({ weeklyQuota: plan.weeklyQuota, pageSize: plans[plan.plan].pageSize })
  const isOwed = rounds !== null && insertedMs - timeMs <= rounds.reachMs
  return isBehind && !isOwed && !wasReadAgain(insertedMs, timeMs, run) ? 'behind-the-cursor' : null
}

/** True when an answer that arrived whole held this content. */
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

/** True when a walk that began after the insertion has read that moment to its end. */
function wasReadAgain(insertedMs: number, timeMs: number, run: WorldRun): boolean {
  return run.lines.some(({ event, fields, marketMs }) => {
    if (event !== 'page_scan.completed') return false
    const beganMs = marketMs - Number(fields.durationMs)
    const fromMs = Date.parse(String(fields.from))
    const toMs = fields.to === null ? Number.POSITIVE_INFINITY : Date.parse(String(fields.to))
    return beganMs >= insertedMs && fromMs <= timeMs && timeMs <= toMs
  })
}

/** Nothing twice, nothing that the market never showed, revisions counted from 1. */
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
  return [...said('twice', twice), ...said('never shown', invented), ...said('misnumbered', misnumbered)]
}

/** Sequence from 1 without a hole; inside a commit by time, then guid; `late` says the rest. */
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
      if (event.late !== event.timeMs < latestMs) misjudged.push(event.id)
      latestMs = Math.max(latestMs, event.timeMs)
      const isBehind =
        before !== null && (event.timeMs - before.timeMs || compareText(event.id, before.id)) < 0
      if (isBehind) unordered.push(event.id)
      before = event
    }
  }
  return [...said('holes', holes), ...said('out of order', unordered), ...said('late misjudged', misjudged)]
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
    ...said(
      'not rejected',
      [...new Set(expected.map(({ raw }) => raw))].filter((raw) => !kept.includes(raw)),
    ),
    ...said(
      'rejected twice',
      kept.filter((raw, index) => kept.indexOf(raw) !== index),
    ),
    ...said(
      'rejected though readable',
      kept.filter((raw) => !shown.has(raw)),
    ),
  ]
}

/** Every gap that opened is closed once, or open in the head; none is there that was not announced. */
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
    ...said(
      'gaps open in the log only',
      [...open].filter((id) => !inHead.includes(id)),
    ),
  )
  broken.push(
    ...said(
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

/** How many, and the first of them. */
function said(what: string, members: readonly string[]): string[] {
  return members.length === 0 ? [] : [`${members.length} ${what}: ${members.slice(0, 3).join(' | ')}`]
}
