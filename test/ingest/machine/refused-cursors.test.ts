/** Tests that a cursor which upstream refuses, in whatever way, is replaced, and what it left out is read. */
import { describe, expect, it } from 'vitest'
import { isGap } from '../../../src/core/event.ts'
import { World, type WorldOptions } from '../../support/worlds/ingest-world.ts'
import { burst } from '../../support/worlds/world-upstream.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const SEVEN = Date.parse('2026-01-06T07:00:00Z')
const plan: Omit<WorldOptions, 'seed' | 'items' | 'startMs'> = { pageSize: 100, weeklyQuota: 20_000 }

function gapStates(world: World): string[] {
  return world.store.events.filter((event) => isGap(event.type)).map((event) => event.type)
}

describe('the poller', () => {
  it.each([
    ['404', { kind: 'refused', status: 404, message: '', hint: null }, MINUTE],
    ['410', { kind: 'refused', status: 410, message: 'gone', hint: null }, MINUTE],
    ['422', { kind: 'refused', status: 422, message: '', hint: null }, MINUTE],
    ['401', { kind: 'unauthorised', status: 401 }, MINUTE],
    ['403', { kind: 'unauthorised', status: 403 }, MINUTE],
    ['500 for an hour', { kind: 'server_error', status: 500 }, 80 * MINUTE],
    ['time-outs for an hour', { kind: 'timeout', phase: 'headers' }, 80 * MINUTE],
    ['rubbish for an hour', { kind: 'invalid', reason: 'not JSON' }, 80 * MINUTE],
  ] as const)('replaces a cursor that is answered with %s, with a gap', (_name, failure, withinMs) => {
    const expiredMs = SEVEN + 90 * MINUTE
    const items = [...burst('a', SEVEN, HOUR, 300), ...burst('b', SEVEN + 2 * HOUR, HOUR, 300)]
    const world: World = new World({
      ...plan,
      seed: 8,
      startMs: SEVEN - MINUTE,
      items,
      fails: ({ sinceCursor }) =>
        sinceCursor !== undefined && world.nowMs >= expiredMs && Number(sinceCursor.split('@')[1]) < expiredMs
          ? failure
          : undefined,
    })
    world.run(expiredMs + withinMs + 2 * MINUTE)
    const [opened] = world.store.events.filter(({ type }) => type === 'bridge.gap.opened.v1')
    expect(JSON.parse(opened?.data ?? '{}')).toMatchObject({ cause: 'cursor_refused' })
    expect(world.health).toBe('ok')
    world.run(SEVEN + 5 * HOUR)
    expect(gapStates(world)).toEqual(['bridge.gap.opened.v1', 'bridge.gap.filled.v1'])
    expect(world.missing()).toEqual([])
    expect(world.twice()).toEqual([])
  })

  it('keeps its cursor when everything is answered with 404 for a while', () => {
    const world: World = new World({
      ...plan,
      seed: 9,
      startMs: SEVEN - MINUTE,
      items: burst('a', SEVEN, HOUR, 600),
      fails: () =>
        world.nowMs > SEVEN + HOUR && world.nowMs < SEVEN + 2 * HOUR
          ? { kind: 'refused', status: 404, message: '', hint: null }
          : undefined,
    })
    world.run(SEVEN + 3 * HOUR)
    expect(world.missing()).toEqual([])
    expect(world.health).toBe('ok')
    expect(gapStates(world).length).toBeLessThanOrEqual(2)
  })
})

describe('the page that brings a new cursor, where items are dated before the stream', () => {
  it.each([40, 300])('brings those listed since it began, and none of %i listed before', (listedBefore) => {
    const startMs = SEVEN + HOUR
    const before = burst('old', SEVEN + 30 * MINUTE, 20 * MINUTE, listedBefore)
    const late = { timeMs: startMs - 11 * MINUTE, visibleMs: startMs + 10 * MINUTE }
    const items = [
      ...before,
      { ...late, guid: 'behind', content: 'behind' },
      { ...late, guid: before.at(-1)?.guid ?? '', content: 'changed' },
      ...burst('new', startMs + MINUTE, HOUR, 20),
    ]
    const refusedMs = startMs + 20 * MINUTE
    const world: World = new World({
      ...plan,
      ...{ seed: 8, startMs, items, cursorsRefusedAtMs: refusedMs },
      strange: (page) => ({
        ...page,
        items: page.items.filter(
          ({ text }) => world.nowMs < late.visibleMs || !text.includes(`"old ${listedBefore - 1}"`),
        ),
      }),
    })
    world.run(refusedMs - MINUTE)
    world.crash()
    world.run(startMs + 2 * HOUR)
    const published = world.store.events
      .filter(({ type }) => !isGap(type))
      .map(({ data }) => (JSON.parse(data) as { headline: string }).headline)
    expect(published).toEqual(expect.arrayContaining(['behind', 'changed']))
    expect(published.filter((headline) => headline.startsWith('old'))).toEqual([])
    expect(published).toHaveLength(22)
  })
})

it('a revoked key costs one request without the cursor, and no gap where it works again', () => {
  const endMs = SEVEN + 50 * MINUTE
  const world: World = new World({
    ...plan,
    seed: 12,
    startMs: SEVEN - MINUTE,
    items: burst('a', SEVEN, HOUR, 60),
    fails: () =>
      world.nowMs > SEVEN + 10 * MINUTE && world.nowMs < endMs
        ? { kind: 'unauthorised', status: 401 }
        : undefined,
  })
  world.run(endMs + HOUR)
  const refused = world.requests.filter(({ atMs }) => atMs > SEVEN + 10 * MINUTE && atMs < endMs)
  expect(refused.filter(({ query }) => query.sinceCursor === undefined)).toHaveLength(1)
  expect(refused.length).toBeLessThan(12)
  expect(gapStates(world)).toEqual([])
  expect(world.missing()).toEqual([])
})

describe('the page that brings a new cursor', () => {
  it('publishes later contents of items from before the gap', () => {
    const refusedMs = SEVEN + 5 * HOUR
    const old = { guid: 'old', timeMs: SEVEN + HOUR, visibleMs: SEVEN + HOUR, content: 'before' }
    const world: World = new World({
      ...plan,
      seed: 10,
      startMs: SEVEN - MINUTE,
      items: [old],
      cursorsRefusedAtMs: refusedMs,
      strange: (page) =>
        world.nowMs < refusedMs
          ? page
          : { ...page, items: page.items.map(({ text }) => changed(text.replace('before', 'after'))) },
    })
    world.run(refusedMs + HOUR)
    expect(world.store.events.filter(({ type }) => !isGap(type)).map(({ id }) => id)).toEqual([
      'old',
      'old#2',
    ])
  })
})

function changed(text: string) {
  return { text, value: JSON.parse(text) as unknown }
}

it('an answer with `hasMore` and no items is an empty poll, with one fill, and no failure', () => {
  const world = new World({
    ...plan,
    seed: 11,
    startMs: SEVEN - MINUTE,
    items: burst('a', SEVEN, MINUTE, 20),
    stableCursors: true,
    strange: (page, { sinceCursor }) => (sinceCursor === undefined ? page : { ...page, hasMore: true }),
  })
  world.run(SEVEN + 3 * HOUR)
  expect(world.reports.filter(({ event }) => event === 'upstream.request_failed')).toEqual([])
  expect(world.requests.filter(({ purpose }) => purpose === 'fill').length).toBeLessThan(20)
  expect(world.missing()).toEqual([])
})
