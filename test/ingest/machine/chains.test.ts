/** Tests that nothing is lost where a publication of several commits ends after the first one. */
import { expect, it } from 'vitest'
import type { QueuedCommit } from '../../../src/ingest/machine/state.ts'
import { World } from '../../support/worlds/ingest-world.ts'
import { burst } from '../../support/worlds/world-upstream.ts'

const SECOND = 1000
const MINUTE = 60 * SECOND
const SEVEN = Date.parse('2026-01-06T07:00:00Z')

/** Refuses the commit that follows the first full one, once. */
function refusesSecond(): { refuseCommit: (queued: QueuedCommit) => boolean; refused: () => number } {
  let [full, refused] = [0, 0]
  return {
    refuseCommit({ commit }) {
      if (full === 1 && refused === 0) {
        refused += 1
        return true
      }
      if (commit.events.length === 1000) full += 1
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
