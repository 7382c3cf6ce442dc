import { expect, test } from 'vitest'
import { createCalendar } from '../../src/core/calendar/calendar.ts'
import { plans } from '../../src/core/plans.ts'
import { readLeaderQuota } from '../../src/http/schemas/leader-quota-schema.ts'
import { type IngestState, initialState } from '../../src/ingest/machine/state.ts'
import { answerQuota } from '../../src/ingest/quota-request-handler.ts'
import { decodeReply } from '../../src/upstream/leader-reply.ts'
import { createManualClock } from '../support/time/manual-clock.ts'

/** A process that is a candidate at first. */
function candidate() {
  const clock = createManualClock()
  const poller: { state: IngestState; leaderSinceMs: number | null } = {
    state: initialState(),
    leaderSinceMs: null,
  }
  const plan = { name: 'lite', ...plans.lite, quotaReset: 'rolling' } as const
  const config = { ...plan, calendar: createCalendar() }
  const parts = {
    poller,
    plan,
    gatewayUnits: 30,
    config,
    processId: 'host:1',
    completeness: '+day',
    clock,
  } as const
  return { clock, poller, parts }
}

/** Lets the waiting handler look at its process again. */
async function turn(clock: ReturnType<typeof createManualClock>): Promise<void> {
  clock.advance(50)
  await new Promise((resolve) => setImmediate(resolve))
}

test('the reply waits until this process leads and has read the ledger, and can be read back', async () => {
  const { clock, poller, parts } = candidate()
  let reply: string | null = null
  const answering = answerQuota(parts, new AbortController().signal).then((text) => {
    reply = text
  })
  await turn(clock)
  poller.leaderSinceMs = clock.now()
  await turn(clock)
  expect(reply).toBe(null)
  const { state } = poller
  const ledger = new Map([[clock.now() - (clock.now() % 300_000), { poll: 3 }]])
  poller.state = { ...state, head: { ...state.head, epoch: 'Epoch001' }, ledger }
  await turn(clock)
  await answering
  const { status, text = '' } = decodeReply(reply ?? '') ?? {}
  expect([status, readLeaderQuota(text)]).toMatchObject([
    200,
    {
      asOf: new Date(clock.now()).toISOString(),
      upstreamAheadMs: null,
      plan: { name: 'lite', weeklyQuota: 1500, gatewayUnits: 30 },
      quota: { used: 3, remaining: 1497 },
      ledger: [...ledger],
      profile: state.profile,
    },
  ])
})

test('a request that nobody waits for any more ends', async () => {
  const { clock, parts } = candidate()
  const gone = new AbortController()
  const answering = answerQuota(parts, gone.signal)
  await turn(clock)
  gone.abort()
  expect(decodeReply(await answering)?.status).toBe(503)
})
