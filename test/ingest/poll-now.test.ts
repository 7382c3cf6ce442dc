/** Tests the order to poll at once, on the poller's state machine and as the leader answers it. */
import { expect, test } from 'vitest'
import { pollRefusal } from '../../src/ingest/machine/poll-now.ts'
import { type IngestState, initialState } from '../../src/ingest/machine/state.ts'
import { step } from '../../src/ingest/machine/step.ts'
import { carryOut } from '../../src/ingest/order-request-handler.ts'
import { decodeReply } from '../../src/upstream/leader-reply.ts'
import { createManualClock } from '../support/time/manual-clock.ts'
import { ingestConfig } from '../support/worlds/ingest-config.ts'

const NOW_MS = Date.parse('2026-01-06T12:00:00Z')
const LATER_MS = NOW_MS + 900_000

function after(before: Partial<IngestState>) {
  const state = { ...initialState(), name: 'polling' as const, lastSeenMs: NOW_MS, ...before }
  const given: IngestState = { ...state, nextPollMs: LATER_MS }
  const { actions } = step(given, { type: 'poll_ordered', nowMs: NOW_MS }, ingestConfig())
  const polls = actions.filter(({ type }) => type === 'request').length
  return [polls, pollRefusal(given, ingestConfig(), NOW_MS)]
}

test('a poll leaves at once, also in the wait after a refused key or a failure', () => {
  for (const upstream of ['ok', 'unauthorised', 'failing'] as const) {
    expect(after({ upstream, blockedUntilMs: LATER_MS })).toEqual([1, null])
  }
  expect(after({ upstream: 'throttled', blockedUntilMs: NOW_MS - 1 })).toEqual([1, null])
})

test('none leaves while polling is paused, after a 429 before its wait is over, and without a unit', () => {
  expect(after({ pausedSinceMs: 1 })).toEqual([0, { why: 'paused' }])
  for (const upstream of ['throttled', 'quota'] as const) {
    const refusal = { why: 'throttled', untilMs: LATER_MS }
    expect(after({ upstream, blockedUntilMs: LATER_MS })).toEqual([0, refusal])
  }
  const ledger = new Map([[NOW_MS - 60_000, { poll: 1_000_000_000 }]])
  expect(after({ ledger })).toEqual([0, { why: 'quota', untilMs: expect.any(Number) }])
})

test('a process that does not lead ignores the order', () => {
  expect(after({ name: 'standby' as never })[0]).toBe(0)
})

test('the leader answers once it leads: when the poll is due, or why none may leave and until when', async () => {
  const clock = createManualClock(NOW_MS)
  const answerTo = async (before: Partial<IngestState>) => {
    const head = { ...initialState().head, epoch: 'epoch001' }
    const state: IngestState = { ...initialState(), name: 'polling', head, ...before }
    const pollNow = () => pollRefusal(state, ingestConfig(), NOW_MS)
    const poller = { state, leaderSinceMs: 1, pollNow }
    return decodeReply(await carryOut({ poller, clock }, new AbortController().signal))
  }
  expect(await answerTo({})).toMatchObject({ status: 200, text: '{"nextPoll":"2026-01-06T12:00:00.000Z"}' })
  expect(await answerTo({ pausedSinceMs: 1 })).toMatchObject({ status: 409, retryAfterMs: null })
  expect(await answerTo({ upstream: 'throttled', blockedUntilMs: LATER_MS })).toMatchObject({
    status: 409,
    retryAfterMs: 900_000,
    refusal: { message: expect.stringContaining('2026-01-06T12:15:00.000Z') },
  })
  const gone = AbortSignal.abort()
  const claiming = {
    state: { ...initialState(), name: 'claiming' as const },
    leaderSinceMs: 1,
    pollNow: () => null,
  }
  expect(decodeReply(await carryOut({ poller: claiming, clock }, gone))?.status).toBe(503)
})
