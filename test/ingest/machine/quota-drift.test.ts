import { expect, test } from 'vitest'
import { compareQuota } from '../../../src/ingest/machine/quota-drift.ts'
import {
  type IngestConfig,
  initialState,
  type PageOutcome,
  type StepContext,
} from '../../../src/ingest/machine/state.ts'
import type { ReportedQuota } from '../../../src/upstream/reported-quota.ts'

const NOW_MS = Date.parse('2026-01-06T07:00:00Z')
const LIMIT = 1000

/** A poller whose own count is 300 of 1,000; returns what it logs at each response. */
function poller() {
  const config = { weeklyQuota: LIMIT, quotaReset: 'rolling' } as IngestConfig
  const state = { ...initialState(), ledger: new Map([[NOW_MS, { poll: 300 }]]) }
  const context: StepContext = { state, actions: [], nowMs: NOW_MS, config }
  return {
    state,
    hears(...reported: ReportedQuota[]): string[] {
      const timing = { startedMs: NOW_MS, endedMs: NOW_MS, serverMs: null, sent: true }
      const answer: PageOutcome = { ...timing, kind: 'server_error', status: 500, reported }
      compareQuota(context, answer)
      return context.actions.splice(0).flatMap((action) => (action.type === 'report' ? action.event : []))
    },
  }
}
const left = (remaining: number): ReportedQuota => ({ limit: LIMIT, remaining })

test('a quota count more than 5 % from upstream’s is logged once, and once more when it agrees again', () => {
  const { hears, state } = poller()
  expect(hears(left(650))).toEqual([])
  expect(state.quotaDrift).toBeCloseTo(0.05)
  expect(hears(left(649))).toEqual(['quota.drift_detected'])
  expect(state.quotaDrift).toBeCloseTo(0.051)
  expect(hears(left(0))).toEqual([])
  expect(hears(left(700))).toEqual(['quota.drift_resolved'])
  expect(hears(left(751))).toEqual(['quota.drift_detected'])
  expect(state.quotaDrift).toBeCloseTo(-0.051)
})

test('a reported quota of another size is not compared, and a missing report changes nothing', () => {
  const { hears, state } = poller()
  expect(hears({ limit: 15, remaining: 0 })).toEqual([])
  expect(hears()).toEqual([])
  expect(state.quotaDrift).toBeNull()
  expect(hears({ limit: 15, remaining: 0 }, left(0))).toEqual(['quota.drift_detected'])
})
