/**
 * Publishes the sandbox's invented items as they fall due on the market clock (simulated time), and records everything
 * published for tests to compare with. It sets no timers: callers call `advance` first, so it works with a virtual
 * clock too.
 */
import { isoMillis } from '../../core/dates.ts'
import { contentHash, readDisclosure, rnsDateIdOf } from '../../core/disclosure.ts'
import { disclosureFacts, GAP_FACTS } from '../../core/filter/facts.ts'
import type { Clock } from '../../lifecycle/clock.ts'
import { MarketItems } from '../store/item-store.ts'
import { takeDue } from '../take-due.ts'
import { createIssuers, type Issuers } from './issuers.ts'
import { type ItemContext, itemJson } from './item-json.ts'
import { londonMidnightMs, londonMomentMs, nextBusinessDay } from './london.ts'
import type { MarketEvent } from './market-events.ts'
import { type MarketSeed, normalDay, type Scenario } from './scenario.ts'

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
  /** Items of the day before; default: the scenario's figure. */
  backlog?: number | undefined
  /** Items of each usual day, of the shape that a day of 1,900 has; default 1,900. */
  dayItems?: number | undefined
  /** Kind of the service's own categories, e.g. `Native`. */
  nativeKind: string
  /** Prefix of the document URLs in the items. */
  documentsUrl: string
}

/** A market whose clock starts when it is created, with its backlog already published. */
export class Market {
  readonly items = new MarketItems()
  readonly issuers: Issuers
  readonly #scenario: Scenario
  readonly #source: MarketSeed & ItemContext
  readonly #clock: Clock
  readonly #speed: number
  readonly #beganMs: number
  readonly #startMs: number
  /** Quiet periods: when the clock reaches `fromMs` it jumps to `toMs`. In order, without overlap. */
  readonly #skips: readonly { fromMs: number; toMs: number }[]
  #advancedMs = 0
  readonly #published: TruthItem[] = []
  readonly #backlog: TruthItem[] = []
  readonly #malformed: TruthMalformed[] = []
  /** Latest revision by guid. */
  readonly #latest = new Map<string, TruthItem>()
  #day: string
  /** Events of the present day that are not due yet, by time. */
  #events: MarketEvent[]

  constructor(options: MarketOptions, clock: Clock) {
    const { scenario, seed, nativeKind, documentsUrl, dayItems } = options
    this.issuers = scenario.cast(createIssuers(seed), { seed, day: scenario.day })
    this.#scenario = scenario
    this.#source = { seed, issuers: this.issuers, nativeKind, documentsUrl, dayItems }
    this.#clock = clock
    this.#speed = options.speed
    this.#beganMs = clock.now()
    const momentMs = (time: string): number => londonMomentMs(scenario.day, time)
    this.#startMs = momentMs(scenario.start)
    this.#skips = scenario.skips.map(({ from, to }) => ({ fromMs: momentMs(from), toMs: momentMs(to) }))
    this.#day = scenario.day
    this.#events = inTime(scenario.firstDay(this.#source, this.#day))
    const dayBefore = nextBusinessDay(this.#day, -1)
    const earlier = [
      ...scenario.earlier(this.#source, this.#day),
      ...normalDay(this.#source, dayBefore, options.backlog ?? scenario.backlog),
    ]
    for (const event of inTime(earlier)) this.#perform(event)
    this.advance()
  }

  /** Current market time, ms since 1970. Never goes back. */
  nowMs(): number {
    const elapsedMs = (this.#clock.now() - this.#beganMs) * this.#speed + this.#advancedMs
    const plainMs = this.#startMs + Math.floor(elapsedMs)
    return this.#skips.reduce((ms, { fromMs, toMs }) => (ms >= fromMs ? ms + toMs - fromMs : ms), plainMs)
  }

  /** Moves the market clock forward. */
  moveForward(ms: number): void {
    this.#advancedMs += ms
  }

  /** Publishes everything that is due. */
  advance(): void {
    const nowMs = this.nowMs()
    for (;;) {
      for (const event of takeDue(this.#events, ({ atMs }) => atMs <= nowMs)) this.#perform(event)
      const tomorrow = nextBusinessDay(this.#day, 1)
      const isOver = this.#events.length === 0 && londonMidnightMs(tomorrow) <= nowMs
      if (!isOver || !this.#scenario.goesOn) return
      this.#day = tomorrow
      this.#events = inTime(normalDay(this.#source, tomorrow))
    }
  }

  /** Publishes these items now. */
  publish(items: readonly unknown[]): Published {
    this.advance()
    const counts: Published = { published: 0, amended: 0, unchanged: 0, malformed: 0 }
    for (const item of items) counts[this.#put(JSON.stringify(item), this.nowMs())] += 1
    return counts
  }

  /** True when the scenario has nothing more to publish; never true if usual days follow it. */
  finished(): boolean {
    this.advance()
    return !this.#scenario.goesOn && this.#events.length === 0
  }

  /** Returns everything published so far. */
  truth(): Truth {
    this.advance()
    return {
      startedAt: isoMillis(this.#startMs),
      marketTime: isoMillis(this.nowMs()),
      items: this.#published,
      backlog: this.#backlog,
      malformed: this.#malformed,
    }
  }

  #perform(event: MarketEvent): void {
    switch (event.kind) {
      case 'publish':
        this.#put(itemJson(event.template, this.#source), event.atMs)
        break
      case 'amend':
        this.#put(itemJson(event.template, this.#source, event.amendment), event.atMs)
        break
      case 'vanish': {
        const gone = this.#latest.get(event.guid)
        if (gone !== undefined) gone.vanishedAt = isoMillis(event.atMs)
        this.items.remove(event.guid)
        break
      }
      case 'unreadable':
        this.#put(event.raw, event.atMs)
    }
  }

  #put(raw: string, atMs: number): keyof Published {
    const value: unknown = JSON.parse(raw)
    const insertedAt = isoMillis(atMs)
    const read = readDisclosure(value)
    if (!read.ok) {
      this.#malformed.push({ raw, reason: read.reason, insertedAt })
      // Sorts just after the newest item, so that a cursor taken from it skips no later item.
      const { timeMs = atMs, key = '' } = this.items.newest() ?? {}
      const identity = { timeMs, key: `${key}~`, guid: null, rnsDateId: null }
      this.items.put({ ...identity, raw, facts: GAP_FACTS, visibleMs: atMs })
      return 'malformed'
    }
    const { guid, timestamp, timeMs } = read.disclosure
    const hash = contentHash(value, raw)
    const before = this.#latest.get(guid)
    if (before?.contentHash === hash && this.items.byGuid(guid) !== null) return 'unchanged'
    const revision = (before?.revision ?? 0) + 1
    const revised = { guid, revision, timestamp, insertedAt, contentHash: hash, vanishedAt: null }
    if (atMs < this.#startMs) this.#backlog.push(revised)
    else this.#published.push(revised)
    this.#latest.set(guid, revised)
    const facts = disclosureFacts(read.disclosure, 'published', this.#source.nativeKind)
    this.items.put({ timeMs, key: guid, guid, rnsDateId: rnsDateIdOf(value), raw, facts, visibleMs: atMs })
    return revision === 1 ? 'published' : 'amended'
  }
}

/** Sorts events by time; events of the same time keep the scenario's order. */
function inTime(events: readonly MarketEvent[]): MarketEvent[] {
  return events.toSorted((left, right) => left.atMs - right.atMs)
}
