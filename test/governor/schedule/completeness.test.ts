import { describe, expect, it } from 'vitest'
import { type PlanName, planNames, plans } from '../../../src/core/plans.ts'
import { completenessOf } from '../../../src/governor/schedule/daily-reconciliation.ts'

describe('completeness', () => {
  it('promises re-scans and daily reconciliations only on plans whose weekly quota affords them', () => {
    const promised = Object.fromEntries(
      planNames.map((name: PlanName) => [name, completenessOf(plans[name])]),
    )
    expect(promised).toEqual({
      free: 'polls+fills',
      lite: '+day',
      advanced: '+day',
      ultimate: '+day',
      enterprise: '+day',
    })
    expect(completenessOf({ weeklyQuota: 50_000, pageSize: 10 })).toBe('+day')
    expect(completenessOf({ weeklyQuota: 6_000, pageSize: 10 })).toBe('polls+fills')
    expect(completenessOf({ weeklyQuota: 1_410, pageSize: 50 })).toBe('polls+fills')
  })
})
