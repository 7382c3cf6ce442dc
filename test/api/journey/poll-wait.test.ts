import { describe, expect, test } from 'vitest'
import type { MadeRequest } from '../../../src/api/journey/journey-facts.ts'
import { pollWait, type WaitFacts } from '../../../src/api/journey/poll-wait.ts'

const LED_MS = -3_600_000

/** A request so long after the item was published, which is at 0. */
function made(atMs: number, parts: Partial<MadeRequest> = {}): MadeRequest {
  return { atMs, leaderSinceMs: LED_MS, purpose: 'poll', result: 'empty', plannedMs: 60_000, ...parts }
}

function waitOf(requests: readonly MadeRequest[], facts: Partial<WaitFacts> = {}) {
  return pollWait({
    publishedMs: 0,
    askedMs: 50_000,
    sincePollMs: 60_000,
    plannedMs: 60_000,
    around: { requests, summed: { polls: 0, failed: 0 }, aheadMs: 0 },
    ...facts,
  })
}

const before = made(-10_100)

describe('the wait for the poll that found an item', () => {
  test('as long as the planned interval was planned', () => {
    const wait = waitOf([before, made(50_000)])
    expect(wait).toMatchObject({ cause: 'planned', before, missed: [] })
    expect(wait.because).toBe('polls were planned every 1 min then')
  })

  test.each([
    ['throttled', 'throttled', '429'],
    ['quota', 'quota', 'quota was spent'],
    ['client_error', 'refused', 'bridge doctor'],
    ['server_error', 'upstream_failing', 'server_error'],
    ['timeout', 'upstream_failing', 'timeout'],
  ] as const)('after a poll that ended with %s was due to that', (result, cause, word) => {
    const missed = made(20_000, { result })
    const wait = waitOf([before, missed, made(50_000)])
    expect(wait).toMatchObject({ cause, missed: [missed] })
    expect(wait.because).toContain(word)
    expect(wait.because).toContain('1 of 1 poll after its time')
    expect(waitOf([made(-10_100, { result }), made(50_000)])).toMatchObject({ cause, missed: [] })
  })

  test('after a good poll without it was upstream’s, also where polls are kept as sums', () => {
    expect(waitOf([before, made(20_000), made(50_000)])).toMatchObject({ cause: 'upstream_late' })
    const summed = { requests: [], summed: { polls: 60, failed: 0 }, aheadMs: 0 }
    const wait = waitOf([], { sincePollMs: 1000, plannedMs: 1000, around: summed })
    expect(wait).toMatchObject({ cause: 'upstream_late' })
    expect(wait.because).toContain('49 s after its time')
  })

  test('with failed polls among those that are kept as sums was upstream’s too', () => {
    const summed = { requests: [], summed: { polls: 60, failed: 7 }, aheadMs: 0 }
    expect(waitOf([], { around: summed }).because).toContain('7 of 60 polls')
  })

  test('for a process that began to lead after it was published was for a leader', () => {
    const wait = waitOf([before, made(50_000, { leaderSinceMs: 30_000 })])
    expect(wait).toMatchObject({ cause: 'no_leader' })
    expect(wait.because).toContain('30 s after its time')
  })

  test('behind a page scan was for that', () => {
    const scan = [made(10_000, { purpose: 'sweep' }), made(20_000, { purpose: 'sweep' })]
    const wait = waitOf([before, ...scan, made(50_000)], { plannedMs: 5000 })
    expect(wait).toMatchObject({ cause: 'page_scan' })
    expect(wait.because).toContain('2 requests')
  })

  test('that nothing kept explains says so', () => {
    expect(waitOf([before, made(50_000)], { plannedMs: 5000 })).toMatchObject({ cause: 'unknown' })
    const nothing = { sincePollMs: undefined, plannedMs: undefined, around: null }
    expect(waitOf([], nothing).because).toBe('no poll was made for 50 s, and why is not kept')
  })

  test('by the event alone is explained long after the requests are gone', () => {
    expect(waitOf([], { around: null })).toMatchObject({ cause: 'planned' })
  })
})
