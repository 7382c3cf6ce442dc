/** Tests page scans that are set aside for the fill of a newer poll. */
import { expect, it, test } from 'vitest'
import { addFetched } from '../../../src/ingest/machine/page-scan.ts'
import type { FetchedItem } from '../../../src/ingest/machine/state.ts'
import { World } from '../../support/worlds/ingest-world.ts'
import { burst } from '../../support/worlds/world-upstream.ts'

const SECOND = 1000
const SEVEN = Date.parse('2026-01-06T07:00:00Z')

it('items that a scan has fetched are published once, also where their commit takes longer than the first page of the fill', () => {
  const late = burst('late', SEVEN + 10 * SECOND, SECOND, 30)
  for (const item of late) item.visibleMs = SEVEN + 25 * SECOND
  const secondMs = SEVEN + 34 * SECOND
  const items = [
    ...burst('a', SEVEN + SECOND, 8 * SECOND, 265),
    ...burst('after', SEVEN + 12 * SECOND, SECOND, 3),
    ...late,
    ...burst('b', secondMs, 20, 60),
  ]
  const world: World = new World({
    ...{ pageSize: 100, weeklyQuota: 1_000_000, seed: 1, startMs: SEVEN - 10 * SECOND, items },
    commitMs: 400,
    strange: (page, { sinceCursor }) =>
      sinceCursor !== undefined && page.items.length > 40
        ? { ...page, items: page.items.slice(0, 20), hasMore: true }
        : page,
    latencyOf: ({ sinceCursor }) => (sinceCursor === undefined && world.nowMs < secondMs ? 900 : 50),
  })
  world.run(SEVEN + 60 * SECOND)
  expect(world.requests.map(({ purpose }) => purpose)).toContain('sweep')
  expect(world.missing()).toEqual([])
  expect(world.twice()).toEqual([])
})

it('a burst that comes while an overlap re-scan is in progress gets a re-scan of its own', () => {
  const secondMs = SEVEN + 30 * SECOND
  const [late, ...others] = burst('b', secondMs, 400, 40)
  if (late !== undefined) late.visibleMs = secondMs + 6 * SECOND
  const items = [...burst('a', SEVEN + SECOND, 8 * SECOND, 265), ...others, ...(late ? [late] : [])]
  const world = new World({
    ...{ pageSize: 100, weeklyQuota: 1_000_000, seed: 1, startMs: SEVEN - 10 * SECOND, items },
    latencyOf: ({ sinceCursor }) => (sinceCursor === undefined ? 900 : 50),
  })
  world.run(secondMs + SECOND)
  expect(world.requests.filter(({ purpose }) => purpose === 'sweep')).not.toEqual([])
  world.run(secondMs + 40 * SECOND)
  expect(world.missing()).toEqual([])
})

test('content that comes after others were published is a further revision, even if the scan has seen it before', () => {
  const item = (hash: string, revision: number) =>
    ({ hash, revision, disclosure: { guid: 'g' } }) as unknown as FetchedItem
  const first = addFetched({ fetched: [], latest: new Map() }, [item('A', 1)])
  const seen = { fetched: [], latest: first.latest }
  expect(addFetched(seen, [item('A', 1)]).fetched).toEqual([])
  expect(addFetched(seen, [item('B', 1)]).fetched).toEqual([item('B', 2)])
  expect(addFetched(seen, [item('C', 3)]).fetched).toEqual([item('C', 3)])
  expect(addFetched(seen, [item('A', 3)]).fetched).toEqual([item('A', 3)])
})
