import { expect, test } from 'vitest'
import { leaderView } from '../../src/app/leader-report.ts'
import { type LeaderReport, UNKNOWN_QUOTA } from '../../src/http/schemas/leader-report-schema.ts'
import { createManualClock } from '../support/time/manual-clock.ts'

const clock = createManualClock(1_000_000)
const received: LeaderReport = {
  asOf: '2026-06-01T07:00:30.000Z',
  leader: { id: 'a:1', since: '2026-06-01T06:00:00.000Z' },
  upstreamState: 'ok',
  lastGoodPoll: '2026-06-01T07:00:29.000Z',
  nextPoll: '2026-06-01T07:01:00.000Z',
  pausedSince: null,
  quota: UNKNOWN_QUOTA,
  gaps: [],
  completeness: '+day',
  unreconciled: [],
  upstreamAheadMs: -60_000,
}
const own = { ...received, leader: { id: 'b:1', since: '2026-06-01T07:00:31.000Z' }, gaps: [] }
const nameOf = (id: string): string => `code of ${id}`
const news = {
  upstreamState: 'ok',
  lastGoodPoll: '2026-06-01T07:00:29.000Z',
  nextPoll: '2026-06-01T07:01:00.000Z',
  openGaps: 0,
  quotaRemaining: null,
  leader: 'code of a:1',
  leaderSince: '2026-06-01T06:00:00.000Z',
  asOf: '2026-06-01T07:00:30.000Z',
}

test('a node that does not poll says what the leader says, and follows its clock of the upstream', () => {
  const view = leaderView({ ingest: null, reports: { latest: received }, clock, nameOf })
  expect(view.report()).toEqual({ report: received, isOwn: false })
  expect(view.news()).toEqual(news)
  expect(view.upstreamNowMs()).toBe(940_000)
})

test('the leader says what it knows itself; a standby, and a leader that has not claimed yet, what was reported', () => {
  const standby = { report: () => null, upstreamAheadMs: () => null }
  const reports = { latest: received }
  expect(leaderView({ ingest: standby, reports, clock, nameOf }).report()).toEqual({
    report: received,
    isOwn: false,
  })
  const view = leaderView({
    ingest: { report: () => own, upstreamAheadMs: () => null },
    reports,
    clock,
    nameOf,
  })
  expect(view.report()).toEqual({ report: own, isOwn: true })
  expect(view.news()).toEqual({ ...news, leader: 'code of b:1', leaderSince: own.leader.since })
  // The upstream's clock is that of the predecessor's report until this leader has polled.
  expect(view.upstreamNowMs()).toBe(940_000)
})

test('a node that has heard from no leader knows nothing, and takes its own clock', () => {
  const view = leaderView({ ingest: null, reports: { latest: null }, clock, nameOf })
  expect(view.report()).toBeNull()
  const unknown = Object.fromEntries(Object.keys(news).map((name) => [name, null]))
  expect(view.news()).toEqual(unknown)
  expect(view.upstreamNowMs()).toBe(1_000_000)
})

test('the news are those of now, or of less than a second ago, whichever way the clock is set', () => {
  const reports = { latest: received }
  const changing = createManualClock(1_000_000_000)
  const view = leaderView({ ingest: null, reports, clock: changing, nameOf })
  expect(view.news().upstreamState).toBe('ok')
  reports.latest = { ...received, upstreamState: 'failing' }
  changing.advance(999)
  expect(view.news().upstreamState).toBe('ok')
  changing.advance(1)
  expect(view.news().upstreamState).toBe('failing')
  reports.latest = received
  changing.set(0)
  expect(view.news().upstreamState).toBe('ok')
})
