import { expect, test } from 'vitest'
import type { JourneyFacts, MadeRequest } from '../../../src/api/journey/journey-facts.ts'
import { spansOf } from '../../../src/api/journey/segments.ts'
import { journeyVerdict } from '../../../src/api/journey/verdict.ts'
import type { KeptJourney } from '../../../src/archive/journeys.ts'

const poll = (atMs: number): MadeRequest => ({
  ...{ atMs, leaderSinceMs: -9e6, purpose: 'poll', result: 'new', plannedMs: 5000, durationMs: 100 },
})

/** An announcement of moment 0 that was held after 9 s. */
function facts(parts: Partial<JourneyFacts>): JourneyFacts {
  return {
    kind: 'announcement',
    timeMs: 0,
    aheadMs: 0,
    foundBy: 'fill',
    kept: { requestMs: 200, scan: 'fill', scanMs: 6000 },
    recordedMs: 9200,
    committedMs: 9210,
    around: { requests: [poll(-2100), poll(2900)], summed: { polls: 0, failed: 0 }, aheadMs: 0 },
    logKind: 'embedded',
    nodes: [{ name: 'a', isSelf: true, state: 'up', reached: { kind: 'at', atMs: 9215 } }],
    webhooks: null,
    streams: undefined,
    ...parts,
  }
}

test('a fill took the time after the poll whose page was full, which did not miss the item', () => {
  const { spans, wait } = spansOf(facts({}), 10_000)
  expect(wait).toMatchObject({ cause: 'planned', missed: [], before: { atMs: -2100 } })
  expect(spans.map(({ cause, fromMs, toMs }) => [cause, fromMs, toMs])).toEqual([
    ['planned', 0, 2900],
    ['overflow', 2900, 9000],
    ['answer', 9000, 9200],
    ['commit', 9200, 9210],
    ['replication', 9210, 9215],
  ])
  expect(journeyVerdict(facts({}), spans)).toMatchObject({ late: true, cause: 'overflow', spanMs: 6100 })
})

test('a fill after a pause waited for that, and one that was interrupted by it too', () => {
  const poll2 = { ...poll(2900), plannedMs: 1000 }
  const around = { requests: [poll(-2100), poll2], summed: { polls: 0, failed: 0 }, aheadMs: 0 }
  const paused = (parts: KeptJourney) =>
    facts({ kept: { requestMs: 200, scan: 'fill', scanMs: 6000, ...parts }, timeMs: -90_000, around })
  const before = spansOf(paused({ pausedMs: 100_000, resumedMs: 6200 }), 10_000).spans
  expect(before.slice(0, 2).map(({ cause }) => cause)).toEqual(['upstream_late', 'overflow'])
  const alone = { ...around, requests: [poll(-95_000), poll2] }
  const after = spansOf({ ...paused({ pausedMs: 100_000, resumedMs: 6200 }), around: alone }, 10_000).spans
  expect(after.slice(0, 2).map(({ cause }) => cause)).toEqual(['paused', 'overflow'])
  const amid = spansOf({ ...paused({ pausedMs: 5000, resumedMs: 100 }), around: alone }, 10_000).spans
  expect(amid[1]).toMatchObject({ cause: 'paused', fromMs: 2900, toMs: 9000 })
})

test('a fill is never counted from a poll of hours before, of which it is not known that it overflowed', () => {
  const around = { requests: [poll(-6 * 3_600_000)], summed: { polls: 90, failed: 0 }, aheadMs: 0 }
  expect(spansOf(facts({ around }), 10_000).spans[1]).toMatchObject({ cause: 'overflow', fromMs: 3000 })
})

test.each([
  ['fill', 'gap_retry', 'gap'],
  ['sweep', 'scheduled_rescan', 'behind_cursor'],
] as const)('what a %s found as %s waited for that alone: %s', (foundBy, scan, cause) => {
  const late = facts({ foundBy, kept: { requestMs: 200, scan, scanMs: 10 } })
  const { spans, wait } = spansOf(late, 10_000)
  expect(wait).toBeNull()
  expect(journeyVerdict(late, spans)).toMatchObject({ cause, spanMs: 9000 })
})

test('what the backfill found is never late', () => {
  const old = facts({ foundBy: 'backfill', recordedMs: 9e6, committedMs: 9e6, kept: { scan: 'backfill' } })
  const { spans } = spansOf(old, 9e6)
  expect(journeyVerdict(old, spans)).toMatchObject({
    late: false,
    text: expect.stringContaining('older than the bridge'),
  })
})

test('a dead delivery and one that waits count until they ended, or until now', () => {
  const attempt = { attempt: 1, atMs: 9300, durationMs: 50, outcome: 'server_error', status: 503 } as const
  const endpoint = { endpointId: 'ep_1', url: 'https://hooks.example', why: null, attempts: [attempt] }
  const dead = facts({ webhooks: { endpoints: [{ ...endpoint, state: 'dead' }], hasMore: false } })
  const pending = facts({ webhooks: { endpoints: [{ ...endpoint, state: 'pending' }], hasMore: false } })
  expect(spansOf(dead, 99_000).spans.at(-1)).toMatchObject({ cause: 'endpoint', toMs: 9350 })
  expect(spansOf(pending, 99_000).spans.at(-1)).toMatchObject({
    toMs: 99_000,
    because: 'the endpoint has not taken it yet: 1 attempt failed (503)',
  })
})

test('how late an amendment is counts from its arrival at the bridge', () => {
  const amended = facts({ kind: 'amendment' })
  expect(journeyVerdict(amended, spansOf(amended, 10_000).spans).text).toMatch(
    / from its arrival at the bridge to /,
  )
})
