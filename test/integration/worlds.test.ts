/**
 * Plays one seed for every scenario and every fault: the real sandbox against the real poller, log and archive over
 * sockets, in virtual time. `npm run campaign` plays many seeds and pairs.
 */
import { expect, it } from 'vitest'
import { createMetrics } from '../../src/obs/metrics.ts'
import { faultKinds } from '../../src/sandbox/faults/fault-kinds.ts'
import { scenarios } from '../../src/sandbox/scenario-list.ts'
import { playWorld } from '../support/worlds/play-world.ts'

const metrics = createMetrics({ version: 'test' })
/** Small, but more items than a page of the smaller plans in most poll intervals. */
const SMALL_BURSTS = 'summer-morning'

it.each(Object.keys(scenarios))(
  'publishes or accounts for every item of the scenario %s, inside the limits',
  async (scenario) => {
    const { verdict } = await playWorld({ scenario, faults: [], seed: 1 }, metrics)
    expect(verdict.broken).toEqual([])
  },
)

it.each(faultKinds)('publishes every item through the fault %s, inside the limits', async (fault) => {
  const { verdict } = await playWorld({ scenario: SMALL_BURSTS, faults: [fault], seed: 1 }, metrics)
  expect(verdict.broken).toEqual([])
  expect(verdict.faultsMet).toBeGreaterThan(0)
})
