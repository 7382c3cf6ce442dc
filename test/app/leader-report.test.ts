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
const polls = { lastGoodPollMs: null, nextPollMs: 5000, upstreamAheadMs: null }

test('a node that does not poll says what the leader says, and follows its clock of the upstream', () => {
  const view = leaderView({ ingest: null, reports: { latest: received }, clock })
  expect(view.report()).toEqual({ report: received, isOwn: false })
  const { asOf, lastGoodPoll, nextPoll } = received
  expect(view.polls()).toMatchObject({ asOf, lastGoodPoll, nextPoll })
  expect(view.upstreamNowMs()).toBe(940_000)
})

test('the leader says what it knows itself; a standby, and a leader that has not claimed yet, what was reported', () => {
  const standby = { report: () => null, polls: () => null }
  const reports = { latest: received }
  expect(leaderView({ ingest: standby, reports, clock }).report()).toEqual({ report: received, isOwn: false })
  const view = leaderView({ ingest: { report: () => own, polls: () => polls }, reports, clock })
  expect(view.report()).toEqual({ report: own, isOwn: true })
  expect(view.polls()).toEqual({
    asOf: '1970-01-01T00:16:40.000Z',
    lastGoodPoll: null,
    nextPoll: '1970-01-01T00:00:05.000Z',
  })
  // The upstream's clock is that of the predecessor's report until this leader has polled.
  expect(view.upstreamNowMs()).toBe(940_000)
})

test('a node that has heard from no leader knows nothing, and takes its own clock', () => {
  const view = leaderView({ ingest: null, reports: { latest: null }, clock })
  expect(view.report()).toBeNull()
  expect(view.polls()).toEqual({ asOf: null, lastGoodPoll: null, nextPoll: null })
  expect(view.upstreamNowMs()).toBe(1_000_000)
})
