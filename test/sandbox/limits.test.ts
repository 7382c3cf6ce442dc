import fc from 'fast-check'
import { expect, test } from 'vitest'
import { WEEK_MS } from '../../src/core/durations.ts'
import { Limits } from '../../src/sandbox/limits.ts'
import { openSandbox, UNLIMITED } from './sandbox-client.ts'

test('no time window admits more requests than burst plus rate × length', () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 0, max: 400 }), { minLength: 1, maxLength: 200 }),
      fc.integer({ min: 1, max: 20 }),
      fc.integer({ min: 1, max: 20 }),
      (gapsMs, ratePerSecond, burst) => {
        const limits = new Limits({ ratePerSecond, burst, weeklyQuota: 1_000 }, 0)
        let nowMs = 0
        const passed: number[] = []
        for (const gapMs of gapsMs) {
          nowMs += gapMs
          if (limits.take(nowMs) === 'ok') passed.push(nowMs)
        }
        passed.forEach((fromMs, first) => {
          passed.slice(first).forEach((toMs, more) => {
            expect(more + 1).toBeLessThanOrEqual(burst + ((toMs - fromMs) / 1000) * ratePerSecond + 1e-6)
          })
        })
      },
    ),
  )
})

test('the quota counts throttled requests but not those it rejected itself, over any seven days', () => {
  const limits = new Limits({ ratePerSecond: 0.001, burst: 1, weeklyQuota: 3 }, 0)
  expect([limits.take(0), limits.take(1), limits.take(2), limits.take(3)]).toEqual([
    'ok',
    'throttle',
    'throttle',
    'quota',
  ])
  expect(limits.unitsUsed(3)).toBe(3)
  expect(limits.take(WEEK_MS - 1)).toBe('quota')
  expect(limits.take(WEEK_MS)).toBe('ok')
  expect(limits.unitsUsed(WEEK_MS)).toBe(3)
})

test('a client gets both kinds of 429 in real time, whatever the speed of the market', async () => {
  const { sandbox, clock, list } = await openSandbox({
    plan: 'free',
    speed: 1_000,
    weeklyQuota: 6,
    ratePerSecond: 1,
    burst: 2,
  })
  const statuses = async (times: number): Promise<number[]> => {
    const answers: number[] = []
    for (let time = 0; time < times; time++) answers.push((await list()).status)
    return answers
  }
  expect(await statuses(3)).toEqual([200, 200, 429])
  clock.advance(1_000)
  expect(await statuses(2)).toEqual([200, 429])
  clock.advance(60_000)
  expect(await statuses(2)).toEqual([200, 429])
  expect(sandbox.usage()).toMatchObject({
    requests: 7,
    units: 6,
    throttled: 2,
    quotaRefused: 1,
    violations: 0,
  })
  clock.advance(WEEK_MS)
  expect(await statuses(1)).toEqual([200])
})

test('a wrong key costs nothing; an invalid request with a valid key costs a unit and counts as a violation', async () => {
  const { sandbox, get, list } = await openSandbox({ plan: 'lite' })
  expect((await get('/disclosures/sources/rns/items', { 'x-api-key': 'other' })).status).toBe(401)
  expect(sandbox.usage()).toMatchObject({ requests: 1, units: 0, unauthorised: 1, violations: 0 })
  await list('pageSize=100')
  await list('pageCursor=a&sinceCursor=b')
  await list('match=wrong')
  await list('sinceCursor=refused')
  await get('/disclosures/sources/rns/items/urn:none')
  expect(sandbox.usage()).toMatchObject({
    units: 5,
    violations: 3,
    refused: {
      page_size_above_plan: 1,
      two_paging_modes: 1,
      parameter_invalid: 1,
      cursor_refused: 1,
      not_found: 1,
    },
  })
})

test('the Date header is the market time', async () => {
  const { clock, list } = await openSandbox({ scenario: 'morning', speed: 60, ...UNLIMITED })
  expect((await list()).headers.get('date')).toBe('Tue, 03 Feb 2026 06:59:55 GMT')
  clock.advance(1_000)
  expect((await list()).headers.get('date')).toBe('Tue, 03 Feb 2026 07:00:55 GMT')
})
