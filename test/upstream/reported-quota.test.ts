import { expect, test } from 'vitest'
import { reportedQuotas } from '../../src/upstream/reported-quota.ts'

const read = (headers: Record<string, string>) => reportedQuotas((name) => headers[name] ?? null)

test('limit and remaining are read under each common header name, and several quotas may be reported', () => {
  for (const name of ['x-quota', 'x-ratelimit', 'ratelimit']) {
    const headers = { [`${name}-limit`]: '3500', [`${name}-remaining`]: ' 120 ' }
    expect(read(headers)).toEqual([{ limit: 3500, remaining: 120 }])
  }
  const both = { 'x-quota-limit': '3500', 'x-quota-remaining': '0', 'ratelimit-limit': '15' }
  expect(read({ ...both, 'ratelimit-remaining': '14' })).toHaveLength(2)
})

test.each([
  ['nothing', {}],
  ['one figure alone', { 'x-ratelimit-limit': '3500' }],
  ['words', { 'x-ratelimit-limit': 'many', 'x-ratelimit-remaining': '3' }],
  ['a negative figure', { 'x-ratelimit-limit': '3500', 'x-ratelimit-remaining': '-1' }],
  ['a list of policies', { 'ratelimit-limit': '15, 15;w=1', 'ratelimit-remaining': '14' }],
  ['more left than there is', { 'x-ratelimit-limit': '10', 'x-ratelimit-remaining': '11' }],
  ['a figure without end', { 'x-ratelimit-limit': '9'.repeat(400), 'x-ratelimit-remaining': '1' }],
])('%s is no report', (_, headers) => {
  expect(read(headers)).toEqual([])
})
