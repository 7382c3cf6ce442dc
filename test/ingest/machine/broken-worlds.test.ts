/** Tests the poller in worlds that break an assumption; many more: `npm run campaign -- --broken 50`. */
import { describe, expect, it } from 'vitest'
import { type PlanName, planNames, plans } from '../../../src/core/plans.ts'
import { type Assumption, assumptions } from '../../support/worlds/broken/assumptions.ts'
import { playBroken } from '../../support/worlds/broken/broken-world.ts'

function expectWhole(plan: PlanName, broken: readonly Assumption[]): void {
  const verdict = playBroken({ plan, broken, seed: 1 })
  expect(verdict.broken).toEqual([])
  expect(verdict.listed).toBeGreaterThan(200)
  expect(verdict.polls).toBeGreaterThan(plans[plan].weeklyQuota / 10)
}

describe('nothing is lost, doubled or held up', () => {
  it.each(assumptions)('where this is untrue: %s', (name) => {
    expectWhole('free', [name])
    expectWhole('lite', [name])
  })

  it.each(planNames)('on the plan %s where two assumptions are untrue', (plan) => {
    expectWhole(plan, ['items are listed at their time', 'requests succeed'])
  })
})
