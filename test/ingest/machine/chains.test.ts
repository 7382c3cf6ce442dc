/** Tests that nothing is lost where a publication of several commits ends between them. */
import { expect, it } from 'vitest'
import type { QueuedCommit } from '../../../src/ingest/machine/state.ts'
import { World } from '../../support/worlds/ingest-world.ts'
import { burst } from '../../support/worlds/world-upstream.ts'

const SECOND = 1000
const MINUTE = 60 * SECOND
const SEVEN = Date.parse('2026-01-06T07:00:00Z')

/** Refuses the commit that follows the first full one of a chain, once. */
function refusesSecond(): { refuseCommit: (queued: QueuedCommit) => boolean; refused: () => number } {
  let [full, refused] = [0, 0]
  return {
    refuseCommit({ commit }) {
      if (full === 1 && refused === 0) {
        refused += 1
        return true
      }
      if (commit.events.length === 500) full += 1
      return false
    },
    refused: () => refused,
  }
}

it('a gap that opens over more items than a commit holds continues behind the last one that is stored', () => {
  const { refuseCommit, refused } = refusesSecond()
  const items = [...burst('old', SEVEN - MINUTE, SECOND, 5), ...burst('flood', SEVEN + SECOND, SECOND, 4000)]
  const world = new World({
    ...{ pageSize: 200, weeklyQuota: 350, seed: 1, startMs: SEVEN - 10 * SECOND },
    ...{ items, refuseCommit, latencyOf: () => 150 },
  })
  world.run(SEVEN + 60 * MINUTE)
  expect(refused()).toBe(1)
  expect(world.missing()).toEqual([])
  expect(world.twice()).toEqual([])
})

it('rejected items that are too many for one commit are stored once and counted, though the second of their commits fails', () => {
  const unreadable = burst('unreadable', SEVEN + SECOND, SECOND, 1500).map((item) => ({
    ...item,
    malformed: true,
  }))
  const counts: number[] = []
  const world = new World({
    ...{ pageSize: 5000, weeklyQuota: 1_000_000, seed: 1, startMs: SEVEN - 10 * SECOND },
    items: [...unreadable, ...burst('good', SEVEN + SECOND, SECOND, 30)],
    refuseCommit({ commit: { rejected = [] } }) {
      if (rejected.length > 0) counts.push(rejected.length)
      return rejected.length > 0 && counts.length === 2
    },
  })
  world.run(SEVEN + MINUTE)
  expect(counts).toEqual([500, 500, 1000])
  expect(world.store.rejected.length).toBe(1500)
  expect(world.store.head.days.map(({ rejected }) => rejected)).toEqual([1500])
  expect(world.missing()).toEqual([])
  expect(world.twice()).toEqual([])
})
