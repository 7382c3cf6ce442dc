/** Tests what a proxied request changes for polls, on the poller's state machine. */
import { expect, test } from 'vitest'
import { type IngestState, initialState } from '../../../src/ingest/machine/state.ts'
import { step } from '../../../src/ingest/machine/step.ts'
import type { FundOutcome } from '../../../src/upstream/fund-client.ts'
import { ingestConfig } from '../../support/worlds/ingest-config.ts'

const NOW_MS = Date.parse('2026-01-06T12:00:00Z')
const ledger = new Map([[NOW_MS, { poll: 1, gateway: 1 }]])

function after(outcome: Partial<FundOutcome>, before: Partial<IngestState> = {}) {
  const state: IngestState = {
    ...initialState(),
    ...{ name: 'polling', upstream: 'ok', lastSeenMs: NOW_MS, nextPollMs: NOW_MS + 1000, ...before },
  }
  const timing = { startedMs: NOW_MS, endedMs: NOW_MS, serverMs: null, sent: true }
  const given = { ...timing, ...outcome } as FundOutcome
  return step(
    state,
    { type: 'proxied', outcome: given, spentMs: NOW_MS, ledger, nowMs: NOW_MS },
    ingestConfig(),
  )
}

test('a 429 is handled like that of a poll: nothing is sent until its wait is over', () => {
  const { state, actions } = after({ kind: 'too_many', retryAfter: '60' })
  expect(state.blockedUntilMs).toBe(NOW_MS + 60_000)
  expect(state.classifier.inARow).toBe(1)
  expect(state.upstream).toBe('throttled')
  const head = expect.objectContaining({ refusedUntilMs: NOW_MS + 60_000 })
  expect(actions).toContainEqual({
    type: 'commit',
    queued: { purpose: 'gateway', commit: expect.objectContaining({ head }) },
  })
  const stored = step(state, { type: 'committed', writer: state, nowMs: NOW_MS }, ingestConfig())
  expect(stored.actions).toContainEqual({ type: 'wake', atMs: NOW_MS + 60_000 })
  expect(actions).toContainEqual(
    expect.objectContaining({ type: 'tally', purpose: 'gateway', result: 'throttled' }),
  )
  const again = after({ kind: 'too_many', retryAfter: null }, { ...state, blockedUntilMs: NOW_MS + 90_000 })
  expect(again.state.classifier.inARow).toBe(2)
  expect(again.state.blockedUntilMs).toBe(NOW_MS + 90_000)
})

test('its unit counts at once, and is refunded when the request was never sent', () => {
  expect(after({ kind: 'ok', value: '{}' }).state.ledger).toBe(ledger)
  const { actions } = after({ kind: 'network', message: 'ECONNREFUSED', sent: false })
  const refunds = [{ atMs: NOW_MS, units: 1, purpose: 'gateway' }]
  expect(actions).toContainEqual({
    type: 'commit',
    queued: { purpose: 'poll', commit: expect.objectContaining({ refunds }) },
  })
})

test('no other failure blocks polls, and a successful proxied request does not reset the failures of polls', () => {
  const outcomes: [Partial<FundOutcome>, string][] = [
    [{ kind: 'ok', value: '{}' }, 'new'],
    [{ kind: 'not_found', message: '', hint: null }, 'empty'],
    [{ kind: 'unauthorised', status: 403 }, 'client_error'],
    [{ kind: 'server_error', status: 500 }, 'server_error'],
    [{ kind: 'timeout', phase: 'headers' }, 'timeout'],
  ]
  for (const [outcome, result] of outcomes) {
    const { state, actions } = after(outcome)
    expect(actions).toContainEqual({ type: 'tally', purpose: 'gateway', result })
    expect([state.upstream, state.blockedUntilMs, state.failuresInARow]).toEqual(['ok', 0, 0])
  }
  const trouble = { upstream: 'quota', blockedUntilMs: NOW_MS + 5000 } as const
  expect(after({ kind: 'ok', value: '{}' }, trouble).state).toMatchObject(trouble)
})

test('a process that no longer leads ignores it', () => {
  expect(after({ kind: 'too_many', retryAfter: '60' }, { name: 'claiming' }).actions).toEqual([])
})
