import { expect, test } from 'vitest'
import type { JourneyFacts, MadeRequest } from '../../../src/api/journey/journey-facts.ts'
import { spansOf } from '../../../src/api/journey/segments.ts'
import { journeyVerdict } from '../../../src/api/journey/verdict.ts'

const poll = (atMs: number): MadeRequest => ({
  ...{ atMs, leaderSinceMs: -9e6, purpose: 'poll', result: 'new', plannedMs: 5000 },
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
