/**
 * Publishes items as they fall due on the market clock and records everything published for tests to compare with. It
 * sets no timers: callers call `advance` first, so it works with a virtual clock too.
 */
import { isoMillis } from '../../core/dates.ts'
import { contentHash, readDisclosure, rnsDateIdOf } from '../../core/disclosure.ts'
import type { Clock } from '../../lifecycle/clock.ts'
import { shelfFacts, UNREADABLE_FACTS } from '../store/item-facts.ts'
import { createShelf, type Shelf } from '../store/item-store.ts'
import { createIssuers, type Issuers } from './issuers.ts'
import { itemJson } from './item-json.ts'
import { londonMidnightMs, londonMomentMs, nextBusinessDay } from './london.ts'
import { createMarketClock } from './market-clock.ts'
import type { Happening } from './market-events.ts'
import { normalDay, type Scenario } from './scenario.ts'

/** One published revision of one guid. */
export interface TruthItem {
  guid: string
  /** 1 for the first revision of the guid. */
  revision: number
  /** As in the item. */
  timestamp: string
  /** When it became visible, market time, ISO 8601. */
  insertedAt: string
  /** As `contentHash` of `core/disclosure.ts`. */
  contentHash: string
  /** When it was removed from the list, market time, ISO 8601; null while listed and for amended revisions. */
  vanishedAt: string | null
}

/** One published item without identity or time. */
export interface TruthMalformed {
  raw: string
  reason: string
  insertedAt: string
}

/** Everything published so far, in the order in which it became visible. */
export interface Truth {
  /** Market time at which this sandbox started, ISO 8601. */
  startedAt: string
  marketTime: string
  /** Revisions that became visible after the start. */
  items: TruthItem[]
  /** Revisions visible before the start, which a backfill can find. */
  backlog: TruthItem[]
  malformed: TruthMalformed[]
}

/** Counts of what happened to items passed to `publish`. */
export interface Published {
  published: number
  amended: number
  /** Same guid, same content: nothing changed. */
  unchanged: number
  malformed: number
}

export interface MarketOptions {
  scenario: Scenario
  seed: number
  /** Market seconds per real second. */
  speed: number
  /** Items of the day before; null = the scenario's figure. */
  backlog: number | null
  /** Kind of the service's own categories, e.g. `Native`. */
  nativeKind: string
  /** Prefix of the document URLs in the items. */
  documentsUrl: string
}

export interface Market {
  readonly shelf: Shelf
  readonly issuers: Issuers
  /** Current market time, ms since 1970. */
  nowMs(): number
  /** Publishes everything that is due. */
  advance(): void
  /** Publishes these items now. */
  publish(items: readonly unknown[]): Published
  /** True when the scenario has nothing more to publish; never true if usual days follow it. */
  finished(): boolean
  /** The item listed as `yyyy-mm-dd.<rnsId>` and when it became visible (ms since 1970); null if there is none. */
  listed(rnsDateId: string): { raw: string; visibleMs: number } | null
  /** Moves the market clock forward. */
  moveForward(ms: number): void
  /** Returns everything published so far. */
  truth(): Truth
}

/** Creates a market whose clock starts now, with its backlog already published. */
export function createMarket(options: MarketOptions, clock: Clock): Market {
  const { scenario, seed, nativeKind, documentsUrl } = options
  const issuers = scenario.cast(createIssuers(seed), { seed, day: scenario.day })
  const source = { seed, issuers, nativeKind, documentsUrl }
  const momentMs = (time: string): number => londonMomentMs(scenario.day, time)
  const startMs = momentMs(scenario.start)
  const skips = scenario.skips.map(({ from, to }) => ({ fromMs: momentMs(from), toMs: momentMs(to) }))
  const time = createMarketClock(clock, { startMs, speed: options.speed, skips })
  const shelf = createShelf()
  const items: TruthItem[] = []
  const history: TruthItem[] = []
  const malformed: TruthMalformed[] = []
  const latest = new Map<string, TruthItem>()

  const putUnreadable = (raw: string, reason: string, atMs: number): void => {
    malformed.push({ raw, reason, insertedAt: isoMillis(atMs) })
    // Sorts just after the newest item, so that a cursor taken from it skips no later item.
    const newest = shelf.newest()
    const place = { timeMs: newest?.timeMs ?? atMs, key: `${newest?.key ?? ''}~` }
    shelf.put({ ...place, guid: null, rnsDateId: null, raw, facts: UNREADABLE_FACTS })
  }
  const put = (raw: string, value: unknown, atMs: number): keyof Published => {
    const read = readDisclosure(value)
    if (!read.ok) {
      putUnreadable(raw, read.reason, atMs)
      return 'malformed'
    }
    const { guid, timestamp, timeMs } = read.disclosure
    const hash = contentHash(value)
    const before = latest.get(guid)
    if (before?.contentHash === hash && shelf.find(guid) !== null) return 'unchanged'
    const revision = (before?.revision ?? 0) + 1
    const insertedAt = isoMillis(atMs)
    const revised = { guid, revision, timestamp, insertedAt, contentHash: hash, vanishedAt: null }
    if (atMs < startMs) history.push(revised)
    else items.push(revised)
    latest.set(guid, revised)
    const facts = shelfFacts(read.disclosure, nativeKind)
    shelf.put({ timeMs, key: guid, guid, rnsDateId: rnsDateIdOf(value), raw, facts })
    return revision === 1 ? 'published' : 'amended'
  }
  const perform = (happening: Happening): void => {
    switch (happening.kind) {
      case 'publish':
      case 'amend': {
        const amendment = happening.kind === 'amend' ? happening.amendment : null
        const raw = itemJson(happening.draft, source, amendment)
        put(raw, JSON.parse(raw), happening.atMs)
        break
      }
      case 'vanish': {
        const gone = latest.get(happening.guid)
        if (gone !== undefined) gone.vanishedAt = isoMillis(happening.atMs)
        shelf.remove(happening.guid)
        break
      }
      case 'unreadable':
        putUnreadable(happening.raw, readReason(happening.raw), happening.atMs)
    }
  }

  let { day } = scenario
  let waiting = inTime(scenario.firstDay(source, day))
  let done = 0
  const advance = (): void => {
    const nowMs = time.nowMs()
    for (;;) {
      for (let next = waiting[done]; next !== undefined && next.atMs <= nowMs; next = waiting[done]) {
        perform(next)
        done += 1
      }
      const tomorrow = nextBusinessDay(day, 1)
      if (done < waiting.length || !scenario.goesOn || londonMidnightMs(tomorrow) > nowMs) return
      day = tomorrow
      waiting = inTime(normalDay(source, day))
      done = 0
    }
  }

  const dayBefore = normalDay(source, nextBusinessDay(day, -1), options.backlog ?? scenario.backlog)
  for (const happening of inTime([...scenario.earlier(source, day), ...dayBefore])) perform(happening)
  advance()

  return {
    shelf,
    issuers,
    nowMs: () => time.nowMs(),
    advance,
    publish(handed) {
      advance()
      const counts: Published = { published: 0, amended: 0, unchanged: 0, malformed: 0 }
      for (const item of handed) counts[put(JSON.stringify(item), item, time.nowMs())] += 1
      return counts
    },
    finished() {
      advance()
      return !scenario.goesOn && done >= waiting.length
    },
    listed(rnsDateId) {
      const item = shelf.findByDateId(rnsDateId)
      const revision = item === null || item.guid === null ? undefined : latest.get(item.guid)
      if (item === null || revision === undefined) return null
      return { raw: item.raw, visibleMs: Date.parse(revision.insertedAt) }
    },
    moveForward: (ms) => time.advance(ms),
    truth() {
      advance()
      const marketTime = isoMillis(time.nowMs())
      return { startedAt: isoMillis(startMs), marketTime, items, backlog: history, malformed }
    },
  }
}

/** Sorts events by time; events of the same time keep the scenario's order. */
function inTime(happenings: readonly Happening[]): Happening[] {
  return happenings.toSorted((left, right) => left.atMs - right.atMs)
}

function readReason(raw: string): string {
  const read = readDisclosure(JSON.parse(raw))
  return read.ok ? 'readable' : read.reason
}
