/** Tests the poller in worlds that break an assumption; many more: `npm run campaign -- --broken 50`. */
import { describe, expect, it } from 'vitest'
import { seededChance } from '../../../src/core/chance.ts'
import { GAP_OPENED } from '../../../src/core/event.ts'
import { type PlanName, planNames, plans } from '../../../src/core/plans.ts'
import type { UpstreamListQuery } from '../../../src/upstream/list-parameters.ts'
import { classifyStatus } from '../../../src/upstream/outcome.ts'
import type { Page } from '../../../src/upstream/page.ts'
import { type Assumption, answerAssumptions, assumptions } from '../../support/worlds/broken/assumptions.ts'
import { playBroken } from '../../support/worlds/broken/broken-world.ts'
import { type FreeItem, type FreeRules, FreeUpstream } from '../../support/worlds/broken/free-upstream.ts'
import { World, type WorldOptions } from '../../support/worlds/ingest-world.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const SEVEN = Date.parse('2026-01-06T07:00:00Z')
/** Plans with and without a daily reconciliation. */
const BOTH = ['free', 'lite'] as const
const UNAVAILABLE = classifyStatus(503, null, '')

function expectWhole(plan: PlanName, broken: readonly Assumption[], seed = 1): void {
  const verdict = playBroken({ plan, broken, seed })
  expect(verdict.broken).toEqual([])
  expect(verdict.listed).toBeGreaterThan(200)
  expect(verdict.polls).toBeGreaterThan(plans[plan].weeklyQuota / 10)
}

describe('nothing is lost, doubled or held up', () => {
  it.each([...assumptions, ...answerAssumptions])('where this is untrue: %s', (name) => {
    expectWhole('free', [name])
    expectWhole('lite', [name])
  })

  it.each(planNames)('on the plan %s where two assumptions are untrue', (plan) => {
    expectWhole(plan, ['items are listed at their time', 'requests succeed'])
  })

  it('where Date is two minutes slow and the quota is spent by others: after refusals a poll first shows the present', () => {
    expectWhole('ultimate', ['clocks agree', 'the quota is as configured'], 13)
  })

  it('where our clock is set back by an hour while polls wait: the items of the next page fit both clocks', () => {
    expectWhole('free', ['upstream accepts its own cursors', 'clocks do not jump'], 12)
  })
})

it.each([2, 4, 19, 22])(
  'loses no item where 429s keep a page waiting and its cursor then brings an empty last page, seed %i',
  (seed) => {
    expectWhole('free', ['pages can be read on later', 'the quota is as configured'], seed)
  },
)

it('takes no empty list for the first day of the stream, of which an item is known', () => {
  expectWhole('lite', ['the list is there'], 5)
})

it.each([2, 3, 4])(
  'polls by date see what a list of the oldest first shows in pages of any order, seed %i',
  (seed) => {
    expectWhole('free', ['answers have a cursor', 'pages are newest first'], seed)
  },
)

it.each([17, 20, 43])(
  'polls by date see what follows a second of more than a page, in a list of the oldest first, seed %i',
  (seed) => {
    expectWhole('free', ['answers have a cursor'], seed)
  },
)

it.each(BOTH)(
  'polls by date need no end where upstream gives no cursors and no clock tells the present: %s',
  (plan) => {
    expectWhole(plan, ['answers have a cursor', 'clocks agree'], 49)
  },
)

it('polls by date up to the present see what a list of the oldest first has behind its first page', () => {
  expectWhole('enterprise', ['answers have a cursor', 'clocks agree'], 44)
})

it('finds a dead cursor within half an hour at 16 items an hour, also after a restart in that time', () => {
  expectWhole('enterprise', ['cursors keep their meaning'], 25)
  expectWhole('enterprise', ['cursors keep their meaning', 'requests succeed'], 34)
})

/** Four business days, each with half of its items in a burst at 07:00. */
function fourDays(): FreeItem[] {
  const each = 320
  return [0, 1, 2, 3].flatMap((day) =>
    Array.from({ length: each }, (_, number) => {
      const isBurst = number < each / 2
      const offMs = isBurst ? number * 125 : MINUTE + ((number - each / 2) * 10 * HOUR) / (each / 2)
      const timeMs = Math.floor((SEVEN + day * DAY + offMs) / 1000) * 1000
      const guid = `${day}-${number}`
      return { guid, timeMs, content: guid, fromMs: timeMs + 300, toMs: Number.POSITIVE_INFINITY }
    }),
  )
}

/** What is untrue of a world: by default an honest upstream, from the first morning on for five days. */
interface Untrue {
  items?: FreeItem[]
  rules?: Partial<FreeRules>
  answer?: (query: UpstreamListQuery, nowMs: number, honest: FreeUpstream) => Page
  fails?: WorldOptions['fails']
  startMs?: number
  endMs?: number
}

interface Played {
  world: World
  /** Items that were never published. */
  missing: string[]
  /** The longest time from listed to published, ms. */
  latestMs: number
}

function played(plan: PlanName, untrue: Untrue): Played {
  const {
    items = fourDays(),
    rules = {},
    fails,
    startMs = SEVEN - 20 * MINUTE,
    endMs = SEVEN + 5 * DAY,
  } = untrue
  const honest = new FreeUpstream(items, rules, seededChance(1))
  const { answer = (query, nowMs) => honest.page(query, nowMs) } = untrue
  const world: World = new World({
    ...plans[plan],
    seed: 1,
    startMs,
    items: [],
    strange: (_page, query) => answer(query, world.nowMs, honest),
    ...(fails && { fails }),
  })
  world.run(endMs)
  const heldMs = new Map(world.store.events.map(({ data }, index) => [data, world.committedMs[index] ?? 0]))
  return {
    world,
    missing: honest.entries.filter(({ text }) => !heldMs.has(text)).map(({ item }) => item.guid),
    latestMs: honest.entries.reduce(
      (most, { text, item }) => Math.max(most, (heldMs.get(text) ?? 0) - item.fromMs),
      0,
    ),
  }
}

/** The first page scan after that time fails from its second page on for so long, and every other request with it. */
function brokenOff(afterMs: number, lastsMs: number) {
  let failingMs = Number.POSITIVE_INFINITY
  return {
    fails({ pageCursor }: UpstreamListQuery, _requests: number, nowMs: number) {
      if (failingMs > nowMs && nowMs > afterMs && pageCursor !== undefined) failingMs = nowMs
      return nowMs >= failingMs && nowMs < failingMs + lastsMs ? UNAVAILABLE : undefined
    },
    endedMs: () => failingMs + lastsMs,
  }
}

const nothing = ({ sinceCursor }: UpstreamListQuery): Page => ({
  items: [],
  nextCursor: sinceCursor === undefined ? null : undefined,
  latestCursor: sinceCursor ?? null,
  hasMore: sinceCursor === undefined ? undefined : false,
  warnings: [],
})

describe('a list that answers 200 and is wrong', () => {
  it.each(BOTH)(
    'loses no item on %s where page cursors that have waited bring an empty last page',
    (plan) => {
      const givenMs = new Map<string, number>()
      const { missing, world } = played(plan, {
        fails: brokenOff(SEVEN + DAY - MINUTE, 6 * MINUTE).fails,
        answer: (query, nowMs, honest) => {
          const { pageCursor } = query
          if (pageCursor !== undefined && nowMs > (givenMs.get(pageCursor) ?? 0) + 5 * MINUTE)
            return nothing(query)
          const page = honest.page(query, nowMs)
          if (typeof page.nextCursor === 'string') givenMs.set(page.nextCursor, nowMs)
          return page
        },
      })
      expect(missing).toEqual([])
      expect(world.reports.map(({ fields }) => fields.reason)).toContain(
        'nothing came behind a page cursor that had waited',
      )
    },
  )

  it('is not taken for a day that was read again, nor for a filled gap, while it is empty', () => {
    const items = fourDays()
    // Only the reconciliation of the second day can find these.
    const late = items.filter(({ guid }) => guid.startsWith('1-') && guid.endsWith('7'))
    for (const item of late) item.fromMs = Math.min(item.timeMs + 9.5 * HOUR, SEVEN + DAY + 11.5 * HOUR)
    const emptyMs = SEVEN + DAY + 11.9 * HOUR
    const { missing, world } = played('lite', {
      items,
      answer: (query, nowMs, honest) =>
        nowMs >= emptyMs && nowMs < emptyMs + HOUR / 4 ? nothing(query) : honest.page(query, nowMs),
    })
    expect(missing).toEqual([])
    expect(world.store.head.days.map(({ walk }) => walk?.state)).toEqual(['whole', 'whole', 'whole', 'whole'])
  })

  it.each(BOTH)('loses no item on %s where it is empty while the gap of an overflow is read', (plan) => {
    const { fails, endedMs } = brokenOff(SEVEN + DAY - MINUTE, 5 * MINUTE)
    const { missing, world } = played(plan, {
      fails,
      answer: (query, nowMs, honest) =>
        nowMs >= endedMs() && nowMs < endedMs() + 85 * MINUTE ? nothing(query) : honest.page(query, nowMs),
    })
    expect(missing).toEqual([])
    expect(world.openGaps).toEqual([])
  })

  it.each([
    ['free', 48 * HOUR],
    ['lite', 48 * HOUR],
    ['lite', 30 * HOUR],
  ] as const)(
    'loses no item on %s where it stands still for %i ms, polls answered all the while',
    (plan, lastsMs) => {
      const items = fourDays()
      const fromMs = SEVEN + 4 * HOUR
      for (const item of items) {
        if (item.fromMs > fromMs && item.fromMs < fromMs + lastsMs) item.fromMs = fromMs + lastsMs
      }
      expect(played(plan, { items }).missing).toEqual([])
    },
  )

  it.each(BOTH)('loses no item on %s where it stands still and then refuses the cursor', (plan) => {
    const items = fourDays()
    const [fromMs, toMs] = [SEVEN + 23.9 * HOUR, SEVEN + 24.9 * HOUR]
    for (const item of items) if (item.fromMs > fromMs && item.fromMs < toMs) item.fromMs = toMs
    const { missing } = played(plan, {
      items,
      fails: ({ sinceCursor }, _requests, nowMs) =>
        sinceCursor !== undefined && nowMs >= toMs && Number(sinceCursor.split('@')[1]) < toMs
          ? classifyStatus(400, null, '')
          : undefined,
    })
    expect(missing).toEqual([])
  })

  it.each(planNames.filter((plan) => plan !== 'enterprise'))(
    'blinds no poll on %s where it begins its cursors anew and lists nothing behind the old ones',
    (plan) => {
      const anewMs = SEVEN + 16 * HOUR
      const { missing, latestMs, world } = played(plan, {
        answer: (query, nowMs, honest) => {
          if (nowMs < anewMs) return honest.page(query, nowMs)
          const { sinceCursor, ...rest } = query
          if (sinceCursor === undefined) return renamed(honest.page(rest, nowMs))
          if (!sinceCursor.startsWith('anew ')) return nothing(query)
          return renamed(honest.page({ ...rest, sinceCursor: sinceCursor.slice('anew '.length) }, nowMs))
        },
      })
      expect(missing).toEqual([])
      expect(world.reports.filter(({ event }) => event === 'poll.cursor_dead')).toHaveLength(1)
      // As long as without it: on free polls are half an hour apart.
      expect(latestMs).toBeLessThan(plan === 'free' ? 40 * MINUTE : 10 * MINUTE)
    },
  )

  it('blinds no poll for long where the polls by date fail twice that would show that its cursor is dead', () => {
    // Eight items an hour are expected then.
    const anewMs = SEVEN + DAY + 2 * HOUR
    let failed = 0
    const { latestMs } = played('lite', {
      endMs: SEVEN + 2 * DAY,
      rules: { renumberedMs: anewMs },
      fails: ({ sinceCursor, pageCursor, fromMs }, _requests, nowMs) => {
        const isCheck = nowMs > anewMs && sinceCursor === undefined && pageCursor === undefined
        if (!isCheck || fromMs === undefined || failed === 2) return undefined
        failed += 1
        return UNAVAILABLE
      },
    })
    expect(failed).toBe(2)
    expect(latestMs).toBeLessThan(35 * MINUTE)
  })

  it.each(BOTH)('blinds no poll on %s where it gives no poll cursor and lists the oldest first', (plan) => {
    const { missing, latestMs } = played(plan, {
      answer: oldestFirst,
    })
    expect(missing).toEqual([])
    expect(latestMs).toBeLessThan(plan === 'free' ? 40 * MINUTE : 10 * MINUTE)
  })
})

describe('a poll by date in place of one by cursor', () => {
  it('publishes nothing of before the start, while no item has come', () => {
    // A Tuesday evening after a weekend of which everything is listed.
    const items = fourDays().map((item) => ({
      ...item,
      timeMs: item.timeMs - 7 * DAY,
      fromMs: item.fromMs - 7 * DAY,
    }))
    const { world } = played('free', { items })
    expect(world.store.events).toEqual([])
  })

  it('leaves a cursor in use that is alive: an item of any time is listed behind it', () => {
    for (let number = 0; number < 8; number++) {
      const items = fourDays().filter(({ guid }) => Number(guid.split('-')[1]) >= 160)
      const fromMs = SEVEN + DAY + 3 * HOUR
      const toMs = fromMs + 2 * HOUR + number * 47_000
      // The list stands still for two hours, then brings its backlog, behind an old item.
      for (const [index, item] of items.entries())
        if (item.fromMs > fromMs && item.fromMs < toMs) item.fromMs = toMs + 10 + index
      const old = { guid: 'old', content: 'old', timeMs: fromMs - 10 * DAY, fromMs: toMs }
      items.push({ ...old, toMs: Number.POSITIVE_INFINITY })
      const { world, missing } = played('free', { items, rules: { cursors: 'insertion' } })
      expect(world.reports.filter(({ event }) => event === 'poll.cursor_dead')).toEqual([])
      expect(missing).toEqual([])
    }
  })
})

it('a gap after a weekend is filled although its first day has no item', () => {
  const monday = SEVEN + 6 * DAY
  const items = Array.from({ length: 260 }, (_, number) => {
    const timeMs = monday + Math.floor(number / 13) * 1000
    const guid = `monday-${number}`
    return { guid, content: guid, timeMs, fromMs: timeMs + 300, toMs: Number.POSITIVE_INFINITY }
  })
  const friday = monday - 3 * DAY
  const last = { guid: 'friday', content: 'friday', timeMs: friday + 13 * HOUR, fromMs: friday + 13 * HOUR }
  items.push({ ...last, toMs: friday + 30 * HOUR })
  let failingMs = 0
  const { missing, world } = played('free', {
    items,
    startMs: friday + 5 * HOUR,
    endMs: monday + 3 * HOUR,
    // Pages alone are refused.
    fails: ({ pageCursor }, _requests, nowMs) => {
      if (pageCursor !== undefined && failingMs === 0 && nowMs > monday) failingMs = nowMs
      const isFailing = pageCursor !== undefined && nowMs < failingMs + 6 * MINUTE
      return isFailing ? classifyStatus(400, null, '') : undefined
    },
  })
  expect(world.openGaps).toEqual([])
  expect(missing).toEqual([])
})

it('an upstream that refuses all its own cursors costs a gap in five minutes, then ever fewer, and no item', () => {
  const { missing, latestMs, world } = played('ultimate', {
    fails: ({ sinceCursor }) => (sinceCursor === undefined ? undefined : classifyStatus(400, null, '')),
  })
  expect(missing).toEqual([])
  expect(latestMs).toBeLessThan(10 * MINUTE)
  expect(world.store.events.filter(({ type }) => type === GAP_OPENED).length).toBeLessThan(20)
  expect(world.openGaps).toEqual([])
})

function renamed(page: Page): Page {
  return { ...page, latestCursor: page.latestCursor === null ? null : `anew ${page.latestCursor}` }
}

/** The first page has the oldest items of the range, and no page a poll cursor. */
function oldestFirst(
  { fromMs = 0, toMs, pageCursor, pageSize }: UpstreamListQuery,
  nowMs: number,
  honest: FreeUpstream,
): Page {
  const listed = honest.entries.filter(
    ({ item }) =>
      item.fromMs <= nowMs && item.timeMs >= fromMs - 999 && item.timeMs <= (toMs ?? nowMs + DAY) + 999,
  )
  const rising = [...listed].reverse()
  const start = Number(pageCursor ?? 0)
  const shown = rising.slice(start, start + pageSize)
  return {
    items: shown.map(({ text }) => ({ text, value: JSON.parse(text) })),
    nextCursor: rising.length > start + pageSize ? String(start + pageSize) : null,
    latestCursor: null,
    hasMore: undefined,
    warnings: [],
  }
}
