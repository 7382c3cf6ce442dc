import { describe, expect, it } from 'vitest'
import { type PlanName, planNames, plans } from '../../src/core/plans.ts'
import { completenessOf } from '../../src/governor/completeness.ts'

describe('completeness', () => {
  it('promises sweeps only where the share for walks pays for every morning of a week', () => {
    const promised = Object.fromEntries(
      planNames.map((name: PlanName) => [name, completenessOf(plans[name])]),
    )
    expect(promised).toEqual({
      free: 'polls+fills',
      lite: '+sweeps',
      advanced: '+sweeps',
      ultimate: '+sweeps',
      enterprise: '+sweeps',
    })
  })
})
