import { describe, expect, it } from 'vitest'
import { isGap } from '../../../src/core/event.ts'
import type { QueuedCommit } from '../../../src/ingest/machine/state.ts'
import { World, type WorldOptions } from '../../support/worlds/ingest-world.ts'
import { burst } from '../../support/worlds/world-upstream.ts'

const SECOND = 1000
const MINUTE = 60 * SECOND
const SEVEN = Date.parse('2026-01-06T07:00:00Z')

const plan = { pageSize: 100, weeklyQuota: 1_000_000, seed: 1, startMs: SEVEN - 10 * SECOND }

/** What followed the polls of this burst, before any re-scan could hide a mistake. */
function afterBurst(count: number, strange: NonNullable<WorldOptions['strange']>) {
  const items = [...burst('old', SEVEN - MINUTE, SECOND, 5), ...burst('a', SEVEN + SECOND, SECOND, count)]
  const world = new World({ ...plan, items, strange })
  world.run(SEVEN + 8 * SECOND)
  const purposes = new Set(world.requests.map(({ purpose }) => purpose))
  return { purposes: [...purposes].sort(), missing: world.missing().length }
}

describe('a poll that may have left items out', () => {
  it('is followed by a fill if its page is full, although upstream does not send `hasMore`', () => {
    const strange: WorldOptions['strange'] = (page) => ({ ...page, hasMore: undefined })
    expect(afterBurst(265, strange)).toEqual({ purposes: ['fill', 'poll'], missing: 0 })
  })

  it('is followed by a fill if upstream sends `hasMore`, although its page is not full', () => {
    const strange: WorldOptions['strange'] = (page, { sinceCursor }) =>
      sinceCursor !== undefined && page.items.length > 20
        ? { ...page, items: page.items.slice(0, 20), hasMore: true }
        : page
    expect(afterBurst(60, strange)).toEqual({ purposes: ['fill', 'poll'], missing: 0 })
  })
})

describe('the cursor of a poll', () => {
  it('moves only in a commit that has its items, or an open gap over them', () => {
    const commits: QueuedCommit['commit'][] = []
    const refuseCommit: WorldOptions['refuseCommit'] = ({ commit }) => {
      commits.push(commit)
      return false
    }
    const items = [
      ...burst('old', SEVEN - MINUTE, SECOND, 10),
      ...burst('few', SEVEN + SECOND, SECOND, 30),
      ...burst('flood', SEVEN + MINUTE, SECOND, 1500),
    ]
    const world = new World({ ...plan, items, refuseCommit, stableCursors: true })
    world.run(SEVEN + 3 * MINUTE)
    const moves = commits.filter(
      ({ head }, index) =>
        head?.cursor !== undefined &&
        head.cursor !==
          commits.slice(0, index).findLast((earlier) => earlier.head?.cursor !== undefined)?.head?.cursor,
    )
    const [first, ...later] = moves
    expect(first?.head?.cursor).toContain('old')
    expect(later.length).toBeGreaterThan(1)
    expect(later.filter(({ events }) => events.length === 0)).toEqual([])
    expect(later.some(({ events }) => events.some(({ type }) => isGap(type)))).toBe(true)
    expect(world.missing()).toEqual([])
  })
})

describe('a page scan', () => {
  it('that two fills have gone before goes on with its next page', () => {
    const items = [
      ...burst('old', SEVEN - 20 * 60 * MINUTE, 60 * MINUTE, 1490),
      ...burst('a', SEVEN + SECOND, SECOND, 700),
      ...burst('b', SEVEN + 6 * SECOND, SECOND, 700),
    ]
    const world = new World({
      ...plan,
      items,
      seed: 5,
      backfillMs: 24 * 60 * MINUTE,
      latencyOf: ({ sinceCursor, fromMs }) => (sinceCursor === undefined && fromMs !== undefined ? 900 : 50),
    })
    world.run(SEVEN + MINUTE)
    const postponed = world.reports.map(({ fields }) => fields.reason)
    expect(postponed).toContain('the fill of a newer poll goes first')
    const pages = world.requests.flatMap(({ purpose, query }) =>
      purpose === 'backfill' ? `${query.fromMs} ${query.pageNumber ?? query.pageCursor}` : [],
    )
    expect(pages.length).toBeGreaterThan(14)
    expect(pages).toEqual([...new Set(pages)])
    expect(world.missing()).toEqual([])
    expect(world.twice()).toEqual([])
  })
})

describe('a page that needs several commits', () => {
  const commitsOf = (items: WorldOptions['items'], pageSize: number, options: Partial<WorldOptions>) => {
    const commits: QueuedCommit['commit'][] = []
    const refuseCommit: WorldOptions['refuseCommit'] = ({ commit }) => {
      const isSecond = commits.length === 1 && commit.events.length > 0
      if (commit.events.length > 0) commits.push(commit)
      return isSecond
    }
    const old = burst('old', SEVEN - MINUTE, SECOND, 5)
    const world = new World({ ...plan, pageSize, items: [...old, ...items], refuseCommit, ...options })
    // Before a re-scan could hide a mistake.
    world.run(SEVEN + 8 * SECOND)
    return { commits, world }
  }

  it('moves the cursor with the last one: after a crash between them all items are there, once', () => {
    const { commits, world } = commitsOf(burst('a', SEVEN + SECOND, SECOND, 1500), 2000, {})
    expect(commits.map(({ events }) => events.length)).toEqual([500, 500, 1000])
    expect(world.store.events).toHaveLength(1500)
    expect(world.twice()).toEqual([])
  })

  it('needs them by its text too: no commit has more than 8 MiB unless a single item has', () => {
    const padding = ' '.repeat(500_000)
    const strange: WorldOptions['strange'] = (page) => ({
      ...page,
      items: page.items.map((item) => ({ ...item, text: `${item.text}${padding}` })),
    })
    const items = burst('a', SEVEN + SECOND, SECOND, 40)
    const { commits, world } = commitsOf(items, 100, { strange })
    const sizes = commits.map(({ events }) => events.reduce((sum, { data }) => sum + data.length, 0))
    expect(Math.max(...sizes)).toBeLessThanOrEqual(8 * 1024 * 1024)
    expect(sizes.length).toBeGreaterThan(3)
    const stored = new Set(world.store.events.map(({ id }) => id))
    expect(items.filter(({ guid }) => !stored.has(guid))).toEqual([])
    expect(world.twice()).toEqual([])
  })
})
