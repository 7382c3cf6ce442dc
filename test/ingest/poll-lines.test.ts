import { expect, test } from 'vitest'
import { World } from '../support/worlds/ingest-world.ts'
import { burst } from '../support/worlds/world-upstream.ts'

const MINUTE = 60_000
/** Night in London. */
const NIGHT = Date.parse('2026-01-06T01:00:00Z')

/** A world whose upstream has one item after 20 minutes, and answers 500 from 30 to 40 minutes. */
function nightWorld(): World {
  return new World({
    seed: 1,
    startMs: NIGHT,
    items: burst('a', NIGHT + 20 * MINUTE, 1, 1),
    pageSize: 100,
    weeklyQuota: 1_000_000,
    fails: (_query, _requests, nowMs) =>
      nowMs > NIGHT + 30 * MINUTE && nowMs < NIGHT + 40 * MINUTE
        ? { kind: 'server_error', status: 500 }
        : undefined,
  })
}

test('polls that bring nothing are logged at debug; the first one, one with news and one after a failure at info', () => {
  const world = nightWorld()
  world.run(NIGHT + 50 * MINUTE)
  const polls = world.reports.filter(({ event }) => event === 'poll.done')
  const shown = polls.filter(({ level }) => level !== 'debug')
  expect(polls.length).toBeGreaterThan(200)
  expect(shown.map(({ level, fields }) => [level, fields.fresh])).toEqual([
    ['info', 0],
    ['info', 1],
    ['info', 0],
  ])
  expect(shown[0]).toBe(polls[0])
  expect(shown[2]?.atMs).toBeGreaterThan(NIGHT + 40 * MINUTE)
})

test('a poll whose page has warnings is logged at warn, with or without news', () => {
  const world = new World({
    ...{ seed: 1, startMs: NIGHT, items: [], pageSize: 100, weeklyQuota: 1_000_000 },
    strange: (page) => ({ ...page, warnings: ['more than was asked for'] }),
  })
  world.run(NIGHT + MINUTE)
  const levels = world.reports.filter(({ event }) => event === 'poll.done').map(({ level }) => level)
  expect(levels.length).toBeGreaterThan(3)
  expect(new Set(levels)).toEqual(new Set(['warn']))
})
