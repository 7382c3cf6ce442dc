/** Tests that no list is believed that lacks what polls have shown: a replica that is behind, or pages that end too early. */
import { describe, expect, it } from 'vitest'
import { seededChance } from '../../src/core/chance.ts'
import { type PlanName, plans } from '../../src/core/plans.ts'
import type { UpstreamListQuery } from '../../src/upstream/list-parameters.ts'
import type { Page } from '../../src/upstream/page.ts'
import { type FreeItem, FreeUpstream } from '../support/worlds/broken/free-upstream.ts'
import { World } from '../support/worlds/ingest-world.ts'

const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
/** A Tuesday. */
const SEVEN = Date.parse('2026-01-06T07:00:00Z')
const BURST = 300

/** Items of the fifteen minutes before it. */
const EARLY = 30

/** Three business days: a burst within half a minute at seven, some items before it, and one every five minutes until five. */
function threeDays(): FreeItem[] {
  return [0, 1, 2].flatMap((day) =>
    Array.from({ length: EARLY + BURST + 120 }, (_, place) => {
      const number = place - EARLY
      const laterMs = (number - BURST) * 5 * MINUTE + MINUTE
      const offMs = number < 0 ? number * 30 * SECOND : number < BURST ? number * 100 : laterMs
      const timeMs = Math.floor((SEVEN + day * DAY + offMs) / SECOND) * SECOND
      const guid = `${day}-${place}`
      return { guid, timeMs, content: guid, fromMs: timeMs + 300, toMs: Number.POSITIVE_INFINITY }
    }),
  )
}

type Answer = (query: UpstreamListQuery, nowMs: number, honest: FreeUpstream) => Page

/** A world of three days, with other answers to queries by date than the truth. */
function worldOf(plan: PlanName, lists: Answer, items = threeDays()) {
  const honest = new FreeUpstream(items, {}, seededChance(1))
  const world: World = new World({
    ...{ ...plans[plan], seed: 1, startMs: SEVEN - 20 * MINUTE, items: [] },
    strange: (_page, query) =>
      query.sinceCursor === undefined && world.nowMs > SEVEN
        ? lists(query, world.nowMs, honest)
        : honest.page(query, world.nowMs),
  })
  const heldMs = (): ReadonlyMap<string, number> =>
    new Map(world.store.events.map(({ data }, at) => [data, world.committedMs[at] ?? 0]))
  return {
    world,
    /** Items of until then that were never published. */
    missing: (untilMs: number) =>
      honest.entries.filter(({ text, item }) => item.fromMs <= untilMs && !heldMs().has(text)),
    /** How late the latest was published, ms. */
    latestMs: () =>
      Math.max(
        ...honest.entries.map(
          ({ text, item }) => (heldMs().get(text) ?? Number.POSITIVE_INFINITY) - item.fromMs,
        ),
      ),
  }
}

describe.each(['lite', 'advanced'] as const)('a replica for lists on %s', (plan) => {
  it('that is minutes behind fills no gap before it has what polls have shown', () => {
    const { world, latestMs } = worldOf(plan, (query, nowMs, honest) =>
      honest.page(query, nowMs - 4 * MINUTE),
    )
    world.run(SEVEN + 3 * DAY)
    expect(latestMs()).toBeLessThan(20 * MINUTE)
    expect(world.openGaps).toEqual([])
  })

  it('that stands still fills no gap and completes no day, and all comes once it goes on', () => {
    const [fromMs, toMs] = [SEVEN + DAY + 5 * SECOND, SEVEN + DAY + 23 * HOUR]
    const { world, missing } = worldOf(plan, (query, nowMs, honest) =>
      honest.page(query, nowMs > fromMs && nowMs < toMs ? fromMs : nowMs),
    )
    world.run(toMs - MINUTE)
    const overflow = world.openGaps.find(
      (gap) => Date.parse(gap.from) < fromMs && Date.parse(gap.to) > fromMs,
    )
    expect(overflow).toBeDefined()
    expect(world.store.head.days.find(({ date }) => date === '2026-01-07')?.walk?.state).not.toBe('whole')
    world.run(SEVEN + 3 * DAY)
    expect(missing(SEVEN + 3 * DAY)).toEqual([])
    expect(world.openGaps).toEqual([])
  })
})

/** A page of a list of these items that is cut off after so many; answers by number have all of it. */
function pageOf(
  { items, ...page }: Page,
  { pageSize, pageNumber, pageCursor = 'page 0' }: UpstreamListQuery,
  most: number,
): Page {
  if (pageNumber !== undefined) {
    const start = (pageNumber - 1) * pageSize
    const shown = items.slice(start, start + pageSize)
    return { ...page, items: shown, nextCursor: undefined, itemTotal: items.length }
  }
  const first = Number(pageCursor.slice('page '.length))
  const last = Math.min(first + pageSize, most)
  const isLast = last >= Math.min(items.length, most)
  return { ...page, items: items.slice(first, last), nextCursor: isLast ? null : `page ${last}` }
}

/** All that a query lists, without pages. */
function wholeOf({ fromMs, toMs }: UpstreamListQuery, nowMs: number, honest: FreeUpstream): Page {
  const range = { ...(fromMs !== undefined && { fromMs }), ...(toMs !== undefined && { toMs }) }
  return honest.page({ ...range, pageSize: 10_000 }, nowMs)
}

describe('a list whose pages end with a full one, although it has more', () => {
  it.each(['free', 'lite', 'advanced'] as const)('is read on by date: %s', (plan) => {
    const { world, missing } = worldOf(plan, (query, nowMs, honest) => ({
      ...honest.page(query, nowMs),
      nextCursor: null,
    }))
    world.run(SEVEN + 3 * DAY)
    expect(missing(SEVEN + 2 * DAY + 20 * HOUR)).toEqual([])
    expect(world.openGaps).toEqual([])
  })

  it('is read on after a restart in the middle of it', () => {
    const { world, missing } = worldOf('lite', (query, nowMs, honest) => ({
      ...honest.page(query, nowMs),
      nextCursor: null,
    }))
    for (const second of [1, 2, 3, 4, 6, 9]) {
      world.run(SEVEN + DAY + second * SECOND)
      world.crash()
    }
    world.run(SEVEN + 3 * DAY)
    expect(missing(SEVEN + 2 * DAY + 20 * HOUR)).toEqual([])
    expect(world.openGaps).toEqual([])
  })

  it.each([
    { cut: 250, what: 'and page cursors that count from the beginning of each list' },
    { cut: Number.POSITIVE_INFINITY, what: 'or is whole, and its last page full by chance' },
  ])('is read on where the end that is asked for is ignored, $what', ({ cut }) => {
    const { world, missing } = worldOf('lite', (query, nowMs, honest) => {
      const { pageNumber: _, toMs, ...asked } = query
      const end = cut < Number.POSITIVE_INFINITY && toMs !== undefined ? { toMs } : {}
      return pageOf(wholeOf({ ...asked, ...end }, nowMs, honest), asked, cut)
    })
    world.run(SEVEN + 3 * DAY)
    expect(missing(SEVEN + 2 * DAY + 20 * HOUR)).toEqual([])
    expect(world.openGaps).toEqual([])
    const walks = world.store.head.days.map(({ walk }) => walk?.state).filter((state) => state !== undefined)
    expect(new Set(walks)).toEqual(new Set(['whole']))
  })
})

/** Items at seven that bear the same second, and some of a minute and an hour after it. */
function oneSecond(count: number, later: number): FreeItem[] {
  return Array.from({ length: count + later }, (_, place) => {
    const timeMs = place < count ? SEVEN : SEVEN + (place % 2 === 0 ? 20 * SECOND : HOUR)
    const guid = `one-${String(place).padStart(4, '0')}`
    return { guid, timeMs, content: guid, fromMs: timeMs + 300, toMs: Number.POSITIVE_INFINITY }
  })
}

/** A list that is cut off after so many items, and whose end is widened to so long. `byNumber`: its pages have numbers, and all items. */
function cutAfter(most: number, widthMs: number, byNumber = false): Answer {
  return ({ pageNumber, toMs, ...range }, nowMs, honest) => {
    const end = toMs === undefined ? {} : { toMs: Math.floor(toMs / widthMs) * widthMs + widthMs - SECOND }
    const page = byNumber && pageNumber !== undefined ? { ...range, pageNumber } : range
    return pageOf(wholeOf({ ...range, ...end }, nowMs, honest), page, most)
  }
}

/** guids of what is neither published nor in an open gap. */
function silentIn({ world, missing }: ReturnType<typeof worldOf>): string[] {
  return missing(SEVEN + 15 * HOUR).flatMap(({ item: { guid, timeMs } }) => {
    const isInGap = world.openGaps.some(
      ({ from, to }) => Date.parse(from) <= timeMs && timeMs <= Date.parse(to),
    )
    return isInGap ? [] : guid
  })
}

/** How the reconciliation of the first day ended. */
function walkOf({ store }: World): string | undefined {
  return store.head.days.find(({ date }) => date === '2026-01-06')?.walk?.state
}

describe('a list that is cut off inside a second', () => {
  it.each([
    { plan: 'free', most: 50, widthMs: SECOND },
    { plan: 'lite', most: 50, widthMs: SECOND },
    { plan: 'lite', most: 150, widthMs: SECOND },
    { plan: 'lite', most: 50, widthMs: MINUTE },
    { plan: 'lite', most: 150, widthMs: MINUTE },
    { plan: 'advanced', most: 100, widthMs: SECOND },
    { plan: 'advanced', most: 200, widthMs: MINUTE },
  ] as const)('hides no item in silence: $plan, $most items, to $widthMs ms', ({ plan, most, widthMs }) => {
    const played = worldOf(plan, cutAfter(most, widthMs), oneSecond(352, 70))
    played.world.run(SEVEN + 20 * HOUR)
    expect(silentIn(played)).toEqual([])
    expect(walkOf(played.world)).not.toBe('whole')
  })

  it.each([
    { plan: 'lite', most: 50, widthMs: SECOND, count: 352, later: 70 },
    { plan: 'lite', most: 150, widthMs: MINUTE, count: 352, later: 70 },
    { plan: 'advanced', most: 100, widthMs: SECOND, count: 352, later: 70 },
    // Whole lists: the last page is full, and has one second only.
    { plan: 'lite', most: Number.POSITIVE_INFINITY, widthMs: SECOND, count: 130, later: 20 },
    { plan: 'lite', most: Number.POSITIVE_INFINITY, widthMs: SECOND, count: 270, later: 30 },
    { plan: 'lite', most: Number.POSITIVE_INFINITY, widthMs: SECOND, count: 300, later: 0 },
    { plan: 'lite', most: Number.POSITIVE_INFINITY, widthMs: SECOND, count: 300, later: 50 },
  ] as const)('is read by page numbers: $plan, $most items, $count and $later', (given) => {
    const { plan, most, widthMs, count, later } = given
    const { world, missing } = worldOf(plan, cutAfter(most, widthMs, true), oneSecond(count, later))
    world.run(SEVEN + 20 * HOUR)
    expect(missing(SEVEN + 15 * HOUR)).toEqual([])
    expect(world.openGaps).toEqual([])
    expect(walkOf(world)).toBe('whole')
  })
})

const unreadable = ({ text }: Page['items'][number]): Page['items'][number] => {
  const value = { guid: (JSON.parse(text) as FreeItem).guid }
  return { text: JSON.stringify(value), value }
}

describe('a list that is read by page numbers', () => {
  const ALL = Number.POSITIVE_INFINITY
  /** Nor stored as rejected. */
  const lostIn = (played: ReturnType<typeof worldOf>): string[] => {
    const rejected = new Set(played.world.store.rejected.map(({ guid }) => guid))
    return silentIn(played).filter((guid) => !rejected.has(guid))
  }
  it.each<[string, (whole: Page, query: UpstreamListQuery, nowMs: number) => Page]>([
    [
      'while answers by number are empty and say so',
      (whole, query, nowMs) => {
        const isEmpty = query.pageNumber !== undefined && nowMs < SEVEN + 13 * HOUR
        return pageOf(isEmpty ? { ...whole, items: [] } : whole, query, 50)
      },
    ],
    [
      'whose pages by number begin with the oldest item',
      (whole, query) => {
        const isRising = query.pageNumber !== undefined
        return pageOf(isRising ? { ...whole, items: whole.items.toReversed() } : whole, query, 50)
      },
    ],
    [
      'from which an item is withdrawn before the first of them',
      (whole, query) => {
        const isGone = query.pageNumber !== undefined
        return pageOf(isGone ? { ...whole, items: whole.items.slice(1) } : whole, query, 100)
      },
    ],
    [
      'from which an item is withdrawn between them',
      (whole, query) => {
        const isGone = (query.pageNumber ?? 0) > 3
        return pageOf(isGone ? { ...whole, items: whole.items.slice(1) } : whole, query, 100)
      },
    ],
    [
      'whose last page by cursor has no readable item',
      (whole, query) => {
        const items = whole.items.map((item, at) => (at < 50 ? unreadable(item) : item))
        return pageOf({ ...whole, items }, query, 50)
      },
    ],
  ])('loses nothing in silence: one %s', (_name, answer) => {
    const played = worldOf(
      'lite',
      (query, nowMs, honest) => answer(wholeOf(query, nowMs, honest), query, nowMs),
      oneSecond(352, 0),
    )
    played.world.run(SEVEN + 20 * HOUR)
    expect(lostIn(played)).toEqual([])
    expect(played.world.twice()).toEqual([])
  })

  it('loses nothing in silence where the end that is asked for is exclusive, and the list is cut off between two seconds', () => {
    const items = oneSecond(392, 0).map((item, place) => {
      const second = place < 130 ? 0 : place < 250 ? 1 : place < 352 ? 2 : -20
      const timeMs = SEVEN + second * SECOND
      return { ...item, timeMs, fromMs: timeMs + 300 }
    })
    const played = worldOf(
      'lite',
      ({ toMs, ...query }, nowMs, honest) => {
        const end = toMs === undefined ? {} : { toMs: toMs - SECOND }
        return pageOf(wholeOf({ ...query, ...end }, nowMs, honest), query, 150)
      },
      items,
    )
    played.world.run(SEVEN + 20 * HOUR)
    expect(lostIn(played)).toEqual([])
    expect(played.world.twice()).toEqual([])
  })

  it('fills its gap although a page of it has unreadable items only', () => {
    const played = worldOf(
      'lite',
      (query, nowMs, honest) => {
        const whole = wholeOf(query, nowMs, honest)
        const items = whole.items.map((item, at) => (at >= 50 && at < 100 ? unreadable(item) : item))
        return pageOf({ ...whole, items }, query, 50)
      },
      oneSecond(352, 0),
    )
    played.world.run(SEVEN + 20 * HOUR)
    expect(lostIn(played)).toEqual([])
    expect(played.world.openGaps).toEqual([])
    expect(walkOf(played.world)).toBe('whole')
  })

  it.each([400, 404])('is whole although upstream answers a page behind its end with %i', (status) => {
    const honest = new FreeUpstream(oneSecond(300, 0), {}, seededChance(1))
    const listed = (query: UpstreamListQuery, nowMs: number) =>
      pageOf(wholeOf(query, nowMs, honest), query, ALL)
    const world: World = new World({
      ...{ ...plans.lite, seed: 1, startMs: SEVEN - 20 * MINUTE, items: [] },
      strange: (_page, query) =>
        query.sinceCursor === undefined ? listed(query, world.nowMs) : honest.page(query, world.nowMs),
      fails: (query, _requests, nowMs) =>
        query.pageNumber !== undefined && listed(query, nowMs).items.length === 0
          ? { kind: 'refused', status, message: 'no such page', hint: null }
          : undefined,
    })
    world.run(SEVEN + 20 * HOUR)
    expect(world.requests.some(({ query }) => query.pageNumber !== undefined)).toBe(true)
    expect(world.openGaps).toEqual([])
    expect(walkOf(world)).toBe('whole')
  })

  it('is one that a backfill reads whose pages begin with the oldest item, and are cut off between two seconds', () => {
    const items = [...oneSecond(120, 0), ...threeDays().slice(EARLY + BURST, EARLY + BURST + 90)]
    const honest = new FreeUpstream(items, {}, seededChance(1))
    const world: World = new World({
      ...{ ...plans.lite, seed: 1, startMs: SEVEN + 14 * HOUR, items: [], backfillMs: DAY },
      strange: (_page, query) => {
        if (query.sinceCursor !== undefined || query.fromMs === undefined)
          return honest.page(query, world.nowMs)
        const whole = wholeOf(query, world.nowMs, honest)
        return pageOf({ ...whole, items: whole.items.toReversed() }, query, 150)
      },
    })
    world.run(SEVEN + 14 * HOUR + 10 * MINUTE)
    expect(world.store.events.filter(({ type }) => type === 'disclosure.published.v1')).toHaveLength(210)
    expect(world.openGaps).toEqual([])
  })

  it('is published in parts where it is too much to hold', () => {
    const honest = new FreeUpstream(oneSecond(250, 0), {}, seededChance(1))
    const padding = ' '.repeat(200_000)
    const world: World = new World({
      ...{ ...plans.lite, seed: 1, startMs: SEVEN + 14 * HOUR, items: [], backfillMs: DAY },
      strange: (_page, query) => {
        const page = pageOf(wholeOf(query, world.nowMs, honest), query, 50)
        return { ...page, items: page.items.map((item) => ({ ...item, text: `${item.text}${padding}` })) }
      },
    })
    world.run(SEVEN + 14 * HOUR + 10 * MINUTE)
    const lastMs = world.requests.findLast(({ purpose }) => purpose === 'backfill')?.atMs ?? 0
    expect(world.store.events).toHaveLength(250)
    expect(world.committedMs.filter((atMs) => atMs < lastMs).length).toBeGreaterThanOrEqual(100)
  })
})
