import { describe, expect, test } from 'vitest'
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

test('what a try to fill a gap found waited for that alone', () => {
  const late = facts({ foundBy: 'fill', kept: { requestMs: 200, scan: 'gap_retry', scanMs: 10 } })
  const { spans, wait } = spansOf(late, 10_000)
  expect(wait).toBeNull()
  expect(journeyVerdict(late, spans)).toMatchObject({ cause: 'gap', spanMs: 9000 })
})

test.each([
  ['a good poll after its time was without it', [poll(-2100), poll(2900)], 'behind_cursor'],
  ['no poll was due before the re-scan', [{ ...poll(-2100), plannedMs: 15_000 }], 'planned'],
  [
    'the polls after its time failed',
    [poll(-2100), { ...poll(2900), result: 'server_error' }],
    'upstream_failing',
  ],
  ['no poll is kept', [], 'unknown'],
] as const)(
  'what a re-scan found was listed behind the cursor only where a poll passed it: %s',
  (_how, requests, cause) => {
    const around = { requests, summed: { polls: 0, failed: 0 }, aheadMs: 0 }
    const late = facts({
      foundBy: 'sweep',
      kept: { requestMs: 200, scan: 'scheduled_rescan', scanMs: 10 },
      around,
    })
    expect(journeyVerdict(late, spansOf(late, 10_000).spans)).toMatchObject({ cause, spanMs: 9000 })
  },
)

test('where only sums of the polls are kept, one of them passed what a re-scan found', () => {
  const around = { requests: [], summed: { polls: 9, failed: 1 }, aheadMs: 0 }
  const late = facts({
    foundBy: 'sweep',
    kept: { requestMs: 200, scan: 'scheduled_rescan', scanMs: 10 },
    around,
  })
  expect(journeyVerdict(late, spansOf(late, 10_000).spans).cause).toBe('behind_cursor')
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
  const endpoint = {
    ...{ endpointId: 'ep_1', url: 'https://hooks.example', why: null, isHeld: false },
    attempts: [attempt],
  }
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

describe('an endpoint that has not taken the event', () => {
  const waits = (parts: Partial<JourneyFacts>, isHeld: boolean) => {
    const why = isHeld ? 'the endpoint is paused' : null
    const endpoint = { endpointId: 'ep_1', url: 'https://hooks.example', why, isHeld, attempts: [] }
    const of = facts({
      ...parts,
      webhooks: { endpoints: [{ ...endpoint, state: 'pending' }], hasMore: false },
    })
    return journeyVerdict(of, spansOf(of, 99_000).spans)
  }
  const inTime = { timeMs: 8000 }

  test.each([true, false])('does not hide why readers had it late (held: %s)', (isHeld) => {
    expect(waits({}, isHeld)).toMatchObject({
      ...{ late: true, cause: 'overflow', spanMs: 6100, totalMs: 9215 },
      text: expect.stringMatching(
        /^Late because more had come .* At https:\/\/hooks\.example it waited for another 1 min/,
      ),
    })
  })

  test('makes late what readers had in time', () => {
    expect(waits(inTime, false)).toMatchObject({ late: true, cause: 'endpoint', spanMs: 89_790 })
  })

  test('makes nothing late while it is paused or disabled', () => {
    expect(waits(inTime, true)).toMatchObject({
      ...{ late: false, cause: null },
      text: expect.stringMatching(/^Not late: .* At https:\/\/hooks\.example .*: the endpoint is paused\.$/),
    })
  })
})
