import { expect, test } from 'vitest'
import { quotaAt } from '../../../src/governor/quota/ledger.ts'
import { nextPollAtMs } from '../../../src/ingest/machine/next-poll.ts'
import { initialState } from '../../../src/ingest/machine/state.ts'
import { step } from '../../../src/ingest/machine/step.ts'
import { ingestConfig } from '../../support/worlds/ingest-config.ts'

const NOW_MS = Date.parse('2026-01-06T12:00:00Z')
const DAY = 86_400_000

test('while the quota is spent the next poll is not before units come back', () => {
  const config = ingestConfig()
  const ledger = new Map([[NOW_MS - DAY, { poll: config.weeklyQuota }]])
  const before = { ...initialState(), name: 'polling' as const, ledger, lastSeenMs: NOW_MS }
  const planned = { ...before, nextPollMs: NOW_MS + 60_000 }
  const { state } = step(planned, { type: 'woke', nowMs: NOW_MS }, config)
  const { resetMs } = quotaAt(ledger, config.weeklyQuota, config.quotaReset, NOW_MS)
  expect(state.upstream).toBe('quota')
  expect(resetMs).toBeGreaterThan(NOW_MS + 5 * DAY)
  expect(nextPollAtMs(state)).toBe(resetMs)
})
