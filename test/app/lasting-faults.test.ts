import { expect, test } from 'vitest'
import { type FaultParts, faultAreas } from '../../src/app/lasting-faults.ts'
import { initialState } from '../../src/ingest/machine/state.ts'
import { upstreamStanding } from '../../src/ingest/upstream-standing.ts'
import type { Standing } from '../../src/obs/lasting-faults.ts'

const NOW_MS = Date.parse('2026-01-06T07:00:00Z')

/** How each area stands in a process in which only that is bad. */
function standings(bad: {
  waitingFor?: string
  silentSinceMs?: number
  behindSinceMs?: number
  filling?: { share: number }
  isClaiming?: boolean
  tokens?: boolean
  webhooks?: boolean
  upstream?: Standing
}): Record<string, string> {
  const storage = {
    waitingFor: () => bad.waitingFor ?? null,
    silentSinceMs: () => bad.silentSinceMs ?? null,
    replicator: {
      lag: { events: 0, sinceMs: bad.behindSinceMs ?? null },
      replica: { filling: bad.filling ?? null },
    },
  } as FaultParts['storage']
  const areas = faultAreas({
    storage,
    clock: { now: () => NOW_MS, after: () => () => undefined },
    ingest: {
      poller: { state: { name: bad.isClaiming === true ? 'claiming' : 'polling' } },
      upstreamStanding: () => bad.upstream ?? { is: 'fine' },
    },
    access: { checks: { tokens: () => bad.tokens ?? true, endpoints: () => true } },
    webhooks: { isWell: () => bad.webhooks ?? true },
  })
  const shown = (standing: Standing): string => (standing.is === 'bad' ? standing.what : standing.is)
  return Object.fromEntries(Object.entries(areas).map(([area, look]) => [area, shown(look())]))
}

const FINE = { log: 'fine', copy: 'fine', tables: 'fine', webhooks: 'fine', upstream: 'fine' }

test('a process that is well has no fault, and one that is filling its replica or is behind by moments neither', () => {
  expect(standings({})).toEqual(FINE)
  expect(standings({ behindSinceMs: NOW_MS - 30_000 })).toEqual(FINE)
  expect(standings({ behindSinceMs: NOW_MS - 600_000, filling: { share: 0.5 } })).toEqual(FINE)
})

test('each bad state of a part is one fault', () => {
  expect(standings({ behindSinceMs: NOW_MS - 61_000 })).toEqual({ ...FINE, copy: 'copy_behind' })
  expect(standings({ tokens: false })).toEqual({ ...FINE, tables: 'tables_unread' })
  expect(standings({ webhooks: false })).toEqual({ ...FINE, webhooks: 'webhook_state_stuck' })
  expect(standings({ upstream: { is: 'bad', what: 'key_refused' } })).toEqual({
    ...FINE,
    upstream: 'key_refused',
  })
})

test.each([
  [{ waitingFor: 'ECONNREFUSED' }, 'kafka_unavailable'],
  [{ silentSinceMs: NOW_MS - 20_000 }, 'kafka_unavailable'],
  [{ isClaiming: true }, 'log_not_writable'],
])('a bad log, %j, is one fault: %s; what depends on it is unknown', (bad, what) => {
  const dependent = { behindSinceMs: NOW_MS - 600_000, tokens: false, webhooks: false }
  expect(standings({ ...bad, ...dependent })).toEqual({
    ...{ log: what, copy: 'unknown', tables: 'unknown', webhooks: 'unknown' },
    upstream: 'fine',
  })
})

test('upstream has a fault for each bad state of its own, after two failures, on the leader only', () => {
  const { head, ...state } = initialState()
  const informed = { ...state, head: { ...head, epoch: 'e1' } }
  const shown = (upstream: typeof state.upstream, failuresInARow = 2) => {
    const standing = upstreamStanding({ ...informed, upstream, failuresInARow }, NOW_MS)
    return standing.is === 'bad' ? standing.what : standing.is
  }
  expect(shown('ok')).toBe('fine')
  expect([shown('waiting'), shown('failing', 1)]).toEqual(['unknown', 'unknown'])
  expect([shown('failing'), shown('unauthorised', 1), shown('throttled', 0), shown('quota', 0)]).toEqual([
    'upstream_unavailable',
    'key_refused',
    'upstream_throttled',
    'quota_spent',
  ])
  const failing = { ...informed, upstream: 'unauthorised' as const, failuresInARow: 3 }
  expect(upstreamStanding({ ...failing, pausedSinceMs: NOW_MS }, NOW_MS)).toEqual({ is: 'unknown' })
  expect(upstreamStanding(failing, null)).toEqual({ is: 'fine', reason: expect.any(String) })
})
