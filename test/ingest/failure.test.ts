import { expect, test } from 'vitest'
import { fixedPacing } from '../../src/governor/pacing.ts'
import { blockAfter, unblock } from '../../src/ingest/failure.ts'
import { type IngestConfig, initialState, type Turn } from '../../src/ingest/state.ts'
import type { Failure } from '../../src/upstream/outcome.ts'

const NOW_MS = Date.parse('2026-01-06T07:00:00Z')
const plan = {
  pageSize: 100,
  ratePerSecond: 15,
  burst: 30,
  weeklyQuota: 1_000_000,
  quotaReset: 'rolling' as const,
}
const config: IngestConfig = {
  ...{ pageSize: plan.pageSize, weeklyQuota: plan.weeklyQuota, quotaReset: plan.quotaReset },
  ...{ pacing: fixedPacing(plan), breathMs: 2000, rounds: null, backfillMs: 0 },
  businessDays: () => 0,
  chance: () => 0.5,
}

/** A poller that meets one failure after the other. */
function poller(): { fails(failure: Failure): number; turn: Turn } {
  const turn: Turn = { state: initialState(), actions: [], nowMs: NOW_MS, config }
  return {
    turn,
    fails(failure) {
      turn.state.request = { purpose: 'poll', query: { pageSize: 100 } }
      const timing = { startedMs: NOW_MS, endedMs: NOW_MS, serverMs: null, sent: true }
      blockAfter(turn, { ...failure, ...timing }, NOW_MS)
      return turn.state.blockedUntilMs - NOW_MS
    },
  }
}

const refused: Failure = { kind: 'unauthorised', status: 403 }
const broken: Failure = { kind: 'server_error', status: 500 }

test('a refused key is tried again after 10 s, 20 s, 40 s, up to a quarter of an hour', () => {
  const { fails } = poller()
  const waits = Array.from({ length: 9 }, () => fails(refused) / 1000)
  expect(waits).toEqual([10, 20, 40, 80, 160, 320, 640, 900, 900])
})

test('a 403 amid failures of another kind waits as a first one does, and so does one after a good answer', () => {
  const { fails, turn } = poller()
  for (let times = 0; times < 6; times++) fails(broken)
  expect(fails(refused)).toBe(10_000)
  unblock(turn)
  expect(fails(refused)).toBe(10_000)
})
