import { expect, test } from 'vitest'
import { FEW_WAITING, RowBudget } from '../../../src/webhooks/worker/row-budget.ts'

const rows = (counts: Record<string, [waiting: number, dead: number]>) =>
  new Map(Object.entries(counts).map(([tenant, [waiting, dead]]) => [tenant, { waiting, dead }]))

test('of a tenant with too many rows the oldest dead ones go first; then its cursors wait, but for endpoints of few failures', () => {
  const budget = new RowBudget({ tenantBytes: 1_000_000, allBytes: 10_000_000 })
  const dead = budget.count(rows({ a: [500, 2000], b: [900, 0] }))
  expect([[...dead.forget], budget.isFull('a', 500)]).toEqual([[['a', 750]], false])
  const waiting = budget.count(rows({ a: [1200, 10], b: [900, 0] }))
  expect([...waiting.forget]).toEqual([['a', 10]])
  expect([
    budget.isFull('a', FEW_WAITING),
    budget.isFull('a', FEW_WAITING - 1),
    budget.isFull('b', 900),
  ]).toEqual([true, false, false])
  expect(budget.count(rows({ a: [1000, 0], b: [900, 0] })).relieved).toEqual(['a'])
  expect(budget.isFull('a', 1000)).toBe(false)
})

test('where all tenants together have too many rows, those with most give way', () => {
  const budget = new RowBudget({ tenantBytes: 1_000_000, allBytes: 1_500_000 })
  budget.count(rows({ a: [900, 0], b: [900, 0], c: [100, 0] }))
  expect(['a', 'b', 'c'].map((tenant) => budget.isFull(tenant, 900))).toEqual([true, true, false])
  budget.count(rows({ a: [900, 0], b: [500, 0], c: [100, 0] }))
  expect(['a', 'b', 'c'].map((tenant) => budget.isFull(tenant, 900))).toEqual([false, false, false])
})
