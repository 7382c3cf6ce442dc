import { describe, expect, test } from 'vitest'
import type { MadeRequest } from '../../../src/api/journey/journey-facts.ts'
import { pollWait, type WaitFacts } from '../../../src/api/journey/poll-wait.ts'

const LED_MS = -3_600_000
const NONE = { pause: null, outage: null }

/** A request so long after the item was published, which is at 0. */
function made(atMs: number, parts: Partial<MadeRequest> = {}): MadeRequest {
  const about = { leaderSinceMs: LED_MS, purpose: 'poll', result: 'empty', plannedMs: 60_000 } as const
  return { atMs, ...about, durationMs: 100, ...parts }
}

function waitOf(requests: readonly MadeRequest[], facts: Partial<WaitFacts> = {}) {
  return pollWait({
    publishedMs: 0,
    askedMs: 50_000,
    sincePollMs: 60_000,
    plannedMs: 60_000,
    holds: NONE,
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
    const failed = [made(-10_100, { result }), made(50_000)]
    expect(waitOf(failed, { sincePollMs: 70_000 })).toMatchObject({ cause, missed: [] })
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

  test('after a failed poll before it names the answer before what came of it', () => {
    const failed = made(-10_100, { result: 'throttled' })
    expect(waitOf([failed], { sincePollMs: 70_000 }).because).toBe(
      'upstream throttled the bridge: it answered the poll before it with 429, and the next one waited',
    )
  })

  test('by the event alone is explained long after the requests are gone', () => {
    expect(waitOf([], { around: null })).toMatchObject({ cause: 'planned' })
  })
})

describe('where polls are kept as sums', () => {
  const summed = { polls: 90, failed: 0 }
  const old = made(-6 * 3_600_000, { result: 'throttled' })

  test('the poll before is the one that the event keeps, never one of hours before', () => {
    const facts = { askedMs: 9000, sincePollMs: 9500, plannedMs: 8000 }
    const wait = waitOf([old], { ...facts, around: { requests: [old], summed, aheadMs: 0 } })
    expect(wait).toMatchObject({ cause: 'planned', missed: [] })
    expect(wait.before).toMatchObject({ atMs: -500, result: 'empty', plannedMs: 8000 })
    expect(wait.because).toBe('polls were planned every 8 s then')
  })

  test('a poll that missed the item is shown when it was answered', () => {
    const around = { requests: [], summed, aheadMs: 0 }
    const wait = waitOf([], { sincePollMs: 1000, plannedMs: 1000, around })
    expect(wait).toMatchObject({ cause: 'upstream_late', before: null, missed: [{ atMs: 49_000 }] })
  })

  test('without a kept poll no poll is said to be missing', () => {
    const around = { requests: [], summed, aheadMs: 0 }
    const wait = waitOf([], { sincePollMs: undefined, plannedMs: undefined, around })
    expect(wait).toMatchObject({ cause: 'unknown', because: expect.stringContaining('only sums by minute') })
  })

  test('a later poll that failed is the one before', () => {
    const failed = made(-5000, { result: 'timeout' })
    expect(waitOf([old, failed])).toMatchObject({ cause: 'upstream_failing', before: failed })
  })
})

describe.each([
  ['pause', 'paused', 'an operator had paused polling'],
  ['outage', 'log_unavailable', 'the log could not be written'],
] as const)('a wait with a %s', (kind, cause, words) => {
  const held = (fromMs: number, toMs: number) => ({ ...NONE, [kind]: { fromMs, toMs } })

  test('that made the poll later than planned is explained by it', () => {
    const wait = waitOf([], { sincePollMs: 52_000, plannedMs: 1000, holds: held(-1500, 49_000) })
    expect(wait).toMatchObject({ cause, because: expect.stringContaining(words) })
    expect(wait.because).toContain('for 49 s of the wait')
  })

  test('in the planned interval is explained by the plan', () => {
    expect(waitOf([], { holds: held(1000, 40_000) })).toMatchObject({ cause: 'planned' })
  })

  test('that was longer than what failed after it, or than a new leader took, is explained by it', () => {
    const missed = made(45_000, { result: 'timeout' })
    const facts = { sincePollMs: 52_000, plannedMs: 1000, holds: held(-1500, 44_900) }
    expect(waitOf([missed], facts)).toMatchObject({ cause, missed: [missed] })
    const elected = made(45_000, { result: 'timeout', leaderSinceMs: 40_000 })
    expect(waitOf([elected], facts)).toMatchObject({ cause })
    expect(waitOf([missed], { ...facts, holds: held(-1500, 2000) })).toMatchObject({
      cause: 'upstream_failing',
    })
  })

  test('long after a good poll without the item was for it, shortly after it for upstream', () => {
    const missed = made(5000)
    const facts = { sincePollMs: 44_900, plannedMs: 1000 }
    expect(waitOf([missed], { ...facts, holds: held(7500, 49_900) })).toMatchObject({ cause })
    const late = made(40_000)
    const short = { sincePollMs: 9900, plannedMs: 1000, holds: held(43_000, 49_900) }
    expect(waitOf([late], short)).toMatchObject({ cause: 'upstream_late' })
  })
})

test('a poll whose page the log could not store does not show that upstream was late', () => {
  const unstored = made(45_000, { result: 'new', plannedMs: 60_000 })
  const holds = { ...NONE, outage: { fromMs: 45_110, toMs: 46_200 } }
  const wait = waitOf([made(-15_000), unstored], { askedMs: 46_300, sincePollMs: 1200, holds })
  expect(wait).toMatchObject({ cause: 'planned', missed: [] })
})
