/**
 * Checks when the poller of a simulated world polled and published. Each bound follows from the plan's figures and from the
 * documented waits after failures, never from what the poller says that it waits.
 */
import { createCalendar } from '../../../../src/core/calendar/calendar.ts'
import { isGap } from '../../../../src/core/event.ts'
import type { PlanLimits } from '../../../../src/core/plans.ts'
import type { World } from '../ingest-world.ts'
import type { FreeUpstream, Listed } from './free-upstream.ts'
import { described, line, livedOn } from './verdict.ts'

const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const WEEK = 7 * 24 * HOUR
/** Answers, commits, a restart. */
const SLACK_MS = 30 * SECOND
/** The poller sleeps for at most a minute: it notices that its clock was set only then. */
const JUMP_SLACK_MS = MINUTE
/** Items of an overflowing poll wait for its fill so long; then a gap names what is missing. */
const HOLD_MS = 2 * SECOND
/** The jitter of waits, and a clock that runs slow. */
const JITTER = 1.15
/** Fills and re-scans leave at least this share of the quota for polls. */
const POLL_SHARE = 0.5
/** The time of an item has come so long before it, where both clocks are right. */
const MARGIN_MS = 2 * SECOND
/** Clocks that are this far apart both count as right. */
const AGREEMENT_MS = 10 * MINUTE
/** After a list without new items it takes up to a night until new ones show which clock is right. */
const QUIET_MS = 14 * HOUR
/** In release hours a dead cursor is found within this time and so many planned intervals: eight items are expected meanwhile. */
const DEAD_MS = 30 * MINUTE
const DEAD_INTERVALS = 3
/** Polls are at most six hours apart, in which an hour of a closed day counts half. */
const LONGEST_OPEN_MS = 6 * HOUR
const LONGEST_CLOSED_MS = 12 * HOUR
/**
 * Release hours are quietest before 07:00: the √ rule puts polls 4.75 times as far apart there as if they were spread evenly
 * (first profile), and one that is due shortly before a burst waits for it.
 */
const QUIETEST = 5.5
const calendar = createCalendar()

/** What is known of the world beside what happened in it. */
interface LivenessCase {
  plan: PlanLimits
  /** When our clock was set. */
  jumpsMs: readonly number[]
  /** How far our clock or upstream's `Date` is wrong at most, ms. */
  clocksApartMs: number
  /** At times neither our clock nor upstream's `Date` is right: only the items show the present. */
  isWithoutClock: boolean
}

/** When it polled and published. */
export interface Liveness {
  /** A sentence for each broken bound. */
  broken: string[]
  /** The longest time between two polls, ms. */
  longestPauseMs: number
  /** The longest time from a failed poll to the next good one, failed ones between them included, ms. */
  longestBlindMs: number
  /** The longest time from the moment when a content is visible at the front to its event or an open gap, ms. */
  longestUnheldMs: number
}

/** A failed request that holds polls up. */
interface HeldUp {
  atMs: number
  /** The next poll leaves so long after it at the latest. */
  withinMs: number
}

/** Checks the times of a finished world. */
export function livenessOf(world: World, upstream: FreeUpstream, given: LivenessCase): Liveness {
  const failures = failuresOf(world, given.plan)
  const unheld = unheldAtFront(world, upstream, given)
  return {
    broken: [
      ...line('pauses of polls', longPauses(world, failures, given)),
      ...line('intervals planned too long', longPlans(world, upstream, given)),
      ...line('contents neither held nor in a gap in time', unheld.late),
      ...line('dead cursors kept', deadCursor(world, upstream, failures)),
    ],
    longestPauseMs: world.polls.reduce(
      (most, { atMs }, index) => Math.max(most, atMs - (world.polls[index - 1]?.atMs ?? atMs)),
      0,
    ),
    longestBlindMs: longestBlindMs(world),
    longestUnheldMs: unheld.longestMs,
  }
}

/**
 * Pauses between polls, each as a sentence. After a good poll the next one leaves within 1.5 times the planned interval;
 * within twice where a new process waits from the last request, which may have been a page. After a failure it leaves
 * within what that failure allows.
 */
function longPauses(world: World, failures: readonly HeldUp[], { jumpsMs }: LivenessCase): string[] {
  const late: string[] = []
  let failure = 0
  let claim = 0
  world.polls.forEach(({ atMs }, index) => {
    const before = world.polls[index - 1]
    let allowedMs = 0
    for (; (failures[failure]?.atMs ?? Number.POSITIVE_INFINITY) < atMs; failure++) {
      const { atMs: failedMs = 0, withinMs = 0 } = failures[failure] ?? {}
      allowedMs = Math.max(allowedMs, failedMs + withinMs - (before?.atMs ?? 0))
    }
    const firstClaim = claim
    while ((world.claimsMs[claim] ?? Number.POSITIVE_INFINITY) < atMs) claim += 1
    if (before === undefined) return
    const factor = claim > firstClaim ? 2 : 1.5
    const slackMs = jumpsMs.some((jumpMs) => jumpMs >= before.atMs && jumpMs <= atMs) ? JUMP_SLACK_MS : 0
    const mostMs = Math.max(factor * before.plannedMs, allowedMs) + SLACK_MS + slackMs
    const pauseMs = atMs - before.atMs
    if (pauseMs <= mostMs) return
    late.push(`${minutes(pauseMs)} from ${new Date(before.atMs).toISOString()}, allowed ${minutes(mostMs)}`)
  })
  return late
}

/**
 * Planned intervals that are longer than the plan implies. Within release hours polls are at most 5.5 times as far apart as
 * if the week's polls were spread evenly; at no time more than the longest silence. Where our clock was set, where no clock is
 * right, where a list without new items does not show which one is, and for the first poll, also the first by another clock,
 * hours are those of the clocks that the poller went by.
 */
function longPlans(
  world: World,
  upstream: FreeUpstream,
  { plan, jumpsMs, clocksApartMs, isWithoutClock }: LivenessCase,
): string[] {
  const openMs = QUIETEST * Math.max(SECOND, WEEK / (plan.weeklyQuota * POLL_SHARE))
  const mostMs = (upstreamMs: number, plannedMs: number): number => {
    const ends = [upstreamMs, upstreamMs + plannedMs]
    const isOpen = ends.every((ms) => calendar.phase(ms) !== 'closed')
    const isBusiness = ends.every((ms) => calendar.isBusinessDay(calendar.londonDate(ms)))
    const longestMs = isBusiness ? LONGEST_OPEN_MS : LONGEST_CLOSED_MS
    return isOpen ? Math.min(openMs, longestMs) : longestMs
  }
  const hasClock = jumpsMs.length === 0 && !isWithoutClock && Number.isFinite(clocksApartMs)
  const hasItems = (ms: number): boolean => !upstream.hidesItems({ fromMs: ms - QUIET_MS, toMs: ms })
  const offsMs = world.polls.map(({ atMs, upstreamMs }) => Math.min(...upstreamMs) - atMs)
  const isSet = (index: number): boolean =>
    Math.abs((offsMs[index] ?? 0) - (offsMs[index - 1] ?? 0)) > AGREEMENT_MS
  return world.polls.flatMap(({ atMs, plannedMs, upstreamMs }, index) => {
    const hasHours = hasClock && index > 0 && !isSet(index) && hasItems(atMs)
    const hours = hasHours ? [atMs] : upstreamMs
    const allowedMs = Math.min(...hours.map((ms) => mostMs(ms, plannedMs)))
    if (plannedMs <= allowedMs + SLACK_MS) return []
    return `${minutes(plannedMs)} at ${new Date(atMs).toISOString()}, allowed ${minutes(allowedMs)}`
  })
}

/**
 * The failures that hold polls up, with the longest wait that the documentation gives for each (operating, contract §10).
 * A page of a scan that fails by itself holds none up. Where the allowance of early retries is spent, the next request
 * leaves when polls spread evenly would.
 */
function failuresOf(world: World, { weeklyQuota }: PlanLimits): HeldUp[] {
  const evenMs = WEEK / (weeklyQuota * POLL_SHARE)
  const retriesOf429 = Math.max(50, weeklyQuota * 0.02)
  let [failingSinceMs, refusals, quotaSeen, spent]: [number | null, number, boolean, number] = [
    null,
    0,
    false,
    0,
  ]
  const requests = world.requestsMs
  const held: HeldUp[] = []
  for (const { atMs, event, fields } of world.reports) {
    if (event === 'poll.done') failingSinceMs = null
    if (event !== 'upstream.request_failed') continue
    const { purpose, result, retryAfter, status } = fields
    const is429 = result === 'throttled' || result === 'quota'
    const isPoll = purpose === 'poll' || purpose === 'probe'
    if (!isPoll && !is429 && status !== 401 && status !== 403 && result !== 'network') continue
    if (is429) {
      refusals += 1
      while ((requests[spent] ?? Number.POSITIVE_INFINITY) <= atMs) spent += 1
      const isFar = spent < weeklyQuota * 0.9 && !quotaSeen && refusals <= retriesOf429
      const askedMs = Number(retryAfter) * SECOND
      const plausibleMs = askedMs > 0 && askedMs <= 2 * MINUTE ? askedMs : 0
      if (result === 'quota') quotaSeen = true
      // Contract §10: within 30 s. A verdict of a spent quota is probed at least every six hours.
      const throttleMs = isFar ? Math.max(30 * SECOND, plausibleMs) : Math.max(5 * MINUTE, evenMs)
      held.push({ atMs, withinMs: JITTER * (result === 'quota' ? 6 * HOUR : throttleMs) })
      continue
    }
    failingSinceMs ??= atMs
    const isKey = status === 401 || status === 403
    // An outage is probed when it has lasted a tenth longer, and a key that is refused at least every hour.
    const lastingMs = Math.min(isKey ? HOUR : 15 * MINUTE, (atMs - failingSinceMs) / 10)
    const withinMs = Math.max(isKey ? 15 * MINUTE : 5 * SECOND, evenMs, lastingMs)
    held.push({ atMs, withinMs: JITTER * withinMs })
  }
  return held
}

function longestBlindMs(world: World): number {
  let longestMs = 0
  let sinceMs: number | null = null
  for (const { atMs, event, fields } of world.reports) {
    if (event === 'upstream.request_failed' && fields.purpose === 'poll') sinceMs ??= atMs
    if (event !== 'poll.done' || sinceMs === null) continue
    longestMs = Math.max(longestMs, atMs - sinceMs)
    sinceMs = null
  }
  return longestMs
}

/**
 * From visible to held. A content at the front is one that a poll by cursor shows whatever cursor is in use: no content
 * before it has a later place. The first good poll after it became visible brings its event, or an open gap over its time,
 * within the two seconds for which a fill is waited for; the second poll after it where only the items show the present,
 * because the newest of them may count as stamped ahead, and polls by date then ask up to the present that older ones show. How soon that poll comes, the bounds of pauses say.
 */
function unheldAtFront(
  world: World,
  upstream: FreeUpstream,
  given: LivenessCase,
): { late: string[]; longestMs: number } {
  const eventMs = new Map<string, number>()
  world.store.events.forEach(({ data }, index) => {
    if (!eventMs.has(data)) eventMs.set(data, world.committedMs[index] ?? 0)
  })
  const gaps = gapsOf(world)
  const hidden = upstream.hidden()
  const goodMs = goodPollsOf(world, upstream)
  const late: string[] = []
  let longestMs = 0
  let poll = 0
  const front = frontOf(upstream, world.firstAnswerMs ?? Number.POSITIVE_INFINITY, given)
  for (const { entry, visibleMs } of front) {
    while ((goodMs[poll] ?? Number.POSITIVE_INFINITY) < visibleMs) poll += 1
    const polledMs = goodMs[given.isWithoutClock ? poll + 2 : poll]
    if (polledMs === undefined) break
    const { item, text } = entry
    if (item.toMs <= polledMs || hidden.has(entry)) continue
    const dueMs = polledMs + HOLD_MS + SLACK_MS
    const heldMs = eventMs.get(text) ?? Number.POSITIVE_INFINITY
    const gapMs = gaps
      .filter(
        ({ fromMs, toMs, closedMs }) => fromMs <= item.timeMs && item.timeMs <= toMs && closedMs > polledMs,
      )
      .reduce((first, { openedMs }) => Math.min(first, openedMs), Number.POSITIVE_INFINITY)
    const knownMs = Math.min(heldMs, Math.max(gapMs, visibleMs))
    if (knownMs > dueMs) late.push(`${described(entry)}, polled ${new Date(polledMs).toISOString()}`)
    else longestMs = Math.max(longestMs, knownMs - visibleMs)
  }
  return { late, longestMs }
}

/**
 * Contents at the front by the time from which a poll shows them; without those that the first answer had. What is stamped
 * ahead leads the order of cursors until its time comes, and so do cursors of a slower server. Clocks that are a little apart
 * both count as right, and of others only the items tell which is right: its time may come as soon as one of them says so.
 */
function frontOf(
  upstream: FreeUpstream,
  firstMs: number,
  { clocksApartMs }: LivenessCase,
): { entry: Listed; visibleMs: number }[] {
  const earlyMs = upstream.behindMs + (clocksApartMs > 0 ? Math.max(AGREEMENT_MS, clocksApartMs) : 0)
  const leadsUntilMs = ({ item }: Listed): number => (upstream.isByTime ? item.timeMs : item.fromMs)
  const byPlace = upstream.entries.map((entry) => {
    const visibleMs = Math.max(entry.item.fromMs, leadsUntilMs(entry))
    const passedMs = Math.max(entry.item.fromMs, leadsUntilMs(entry) - MARGIN_MS - earlyMs)
    return { entry, visibleMs, passedMs }
  })
  const passed = byPlace.toSorted((one, other) => one.passedMs - other.passedMs)
  let highest = -1
  let next = 0
  return byPlace
    .toSorted((one, other) => one.visibleMs - other.visibleMs || one.entry.rank - other.entry.rank)
    .filter(({ entry, visibleMs }) => {
      const { item, rank } = entry
      for (; (passed[next]?.passedMs ?? Number.POSITIVE_INFINITY) < visibleMs; next++) {
        const other = passed[next]?.entry
        if (other !== undefined && other !== entry) highest = Math.max(highest, other.rank)
      }
      const isFront = rank > highest
      highest = Math.max(highest, rank)
      // Before the first item there is no cursor, and polls ask for dates around the present.
      const isReachable = upstream.isByTime
        ? item.timeMs >= firstMs
        : Math.abs(item.timeMs - item.fromMs) <= MINUTE
      return isFront && visibleMs > firstMs && visibleMs < item.toMs && isReachable
    })
}

/** Answers to polls that were of the present, and whose process lived on until their items had to be published. */
function goodPollsOf(world: World, { answeredMs }: FreeUpstream): number[] {
  const present = new Set(answeredMs)
  return world.reports
    .filter(({ event, atMs }) => event === 'poll.done' && present.has(atMs))
    .map(({ atMs }) => atMs)
    .filter((atMs) => livedOn(world, atMs, HOLD_MS + SLACK_MS))
}

/** A cursor that leads to nothing any more, and that polls without a failure went on with; as a sentence. */
function deadCursor(world: World, upstream: FreeUpstream, failures: readonly HeldUp[]): string[] {
  const { renumberedMs } = upstream
  if (renumberedMs === null) return []
  const plannedMs = world.polls
    .filter(({ atMs }) => Math.abs(atMs - renumberedMs) < DEAD_MS)
    .map((poll) => poll.plannedMs)
  const knownMs = renumberedMs + DEAD_MS + DEAD_INTERVALS * Math.max(0, ...plannedMs)
  const isOpen = [renumberedMs, knownMs].every((ms) => calendar.phase(ms) === 'open')
  const isWithin = (ms: number): boolean => renumberedMs < ms && ms <= knownMs
  const isHeldUp = failures.some(({ atMs }) => isWithin(atMs))
  // Where a quota is spent no poll leaves at all: the bounds of pauses are for that.
  const polls = world.reports.filter(({ event, atMs }) => event === 'poll.done' && isWithin(atMs)).length
  const isHidden = upstream.hidesItems({ fromMs: renumberedMs, toMs: knownMs })
  if (
    !isOpen ||
    isHeldUp ||
    isHidden ||
    polls < DEAD_INTERVALS ||
    goodPollsOf(world, upstream).some(isWithin)
  )
    return []
  return [`from ${new Date(renumberedMs).toISOString()}, allowed ${minutes(knownMs - renumberedMs)}`]
}

/** Every gap of the world, with when it was opened and closed; infinite where it is open. */
function gapsOf(world: World) {
  const gaps = new Map<string, { fromMs: number; toMs: number; openedMs: number; closedMs: number }>()
  world.store.events.forEach(({ type, data }, index) => {
    if (!isGap(type)) return
    const { id, from, to } = JSON.parse(data) as { id: string; from: string; to: string }
    const atMs = world.committedMs[index] ?? 0
    const known = gaps.get(id)
    if (known !== undefined) known.closedMs = atMs
    else {
      const [fromMs, toMs] = [Date.parse(from), Date.parse(to)]
      gaps.set(id, { fromMs, toMs, openedMs: atMs, closedMs: Number.POSITIVE_INFINITY })
    }
  })
  return [...gaps.values()]
}

function minutes(ms: number): string {
  return `${(ms / MINUTE).toFixed(1)} min`
}
