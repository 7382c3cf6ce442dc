import { describe, expect, test } from 'vitest'
import { BridgeError } from '../../../src/errors.ts'
import type { DeliveryStanding } from '../../../src/webhooks/delivery-state/endpoint-state.ts'
import { createHealthOf, type HealthSources } from '../../../src/webhooks/health/health-of.ts'
import { createStore, eventAt } from '../../support/store.ts'
import { createManualClock } from '../../support/time/manual-clock.ts'
import { wantedEndpoint } from '../../support/webhooks/endpoints.ts'

const START_MS = Date.UTC(2026, 5, 1, 6)
const RESTING: DeliveryStanding = {
  pending: 0,
  oldestMs: null,
  dead: 0,
  forgotten: 0,
  failingSinceMs: null,
  unreadAfter: null,
}
const NOTHING_KNOWN = {
  pending: null,
  oldestPending: null,
  dead: null,
  forgotten: null,
  lastSuccess: null,
  failingSince: null,
  p50Ms: null,
  p95Ms: null,
}

/** The health of an endpoint for results (every tenth of a hundred events) that was made long ago, by these sources. */
function healthWith(
  sources: Partial<HealthSources>,
  changes: { createdAtMs?: number; budgetMs?: number } = {},
) {
  const clock = createManualClock()
  const { reader, archive } = createStore(clock, 100)
  const { createdAtMs = 0, budgetMs = 1000 } = changes
  const endpoint = {
    ...wantedEndpoint({ filter: { fcaCategories: ['FR'] }, start: reader.cursorAt(40) }),
    ...{ version: 'v', disabledReason: null, createdAtMs },
  }
  const healthOf = createHealthOf({
    standingOf: () => null,
    history: { figures: () => ({ lastSuccessMs: null, durationsMs: [] }) },
    reader,
    clock,
    ...sources,
  })
  return healthOf(endpoint, clock.now() + budgetMs).finally(() => archive.close())
}

describe('the health of an endpoint', () => {
  test('shows what the delivering node says, and null for what nobody has said', async () => {
    const standing = { ...RESTING, pending: 3, oldestMs: 1000, dead: 2, forgotten: 5, failingSinceMs: 2000 }
    expect(await healthWith({ standingOf: () => standing })).toEqual({
      ...NOTHING_KNOWN,
      pending: 3,
      oldestPending: '1970-01-01T00:00:01.000Z',
      dead: 2,
      forgotten: 5,
      failingSince: '1970-01-01T00:00:02.000Z',
    })
    expect(await healthWith({})).toEqual(NOTHING_KNOWN)
  })

  test('counts matching events that were not read yet, as of a paused endpoint, while there is time', async () => {
    const standingOf = () => ({ ...RESTING, pending: 1, oldestMs: START_MS * 2, unreadAfter: 70 })
    const recorded = eventAt(80).recordedtime
    expect(await healthWith({ standingOf })).toMatchObject({
      pending: 4,
      oldestPending: new Date(recorded).toISOString(),
    })
    expect(await healthWith({ standingOf }, { budgetMs: 0 })).toMatchObject({ pending: 1 })
  })

  test('of a new endpoint counts from its start', async () => {
    expect(await healthWith({}, { createdAtMs: START_MS })).toMatchObject({ pending: 6, dead: 0 })
  })

  test('takes last success and percentiles by nearest rank from the history', async () => {
    const durationsMs = Array.from({ length: 100 }, (_, at) => 100 - at)
    const history = { figures: () => ({ lastSuccessMs: 5000, durationsMs }) }
    expect(await healthWith({ history })).toMatchObject({
      lastSuccess: '1970-01-01T00:00:05.000Z',
      p50Ms: 50,
      p95Ms: 95,
    })
    const one = { figures: () => ({ lastSuccessMs: null, durationsMs: [7] }) }
    expect(await healthWith({ history: one })).toMatchObject({ p50Ms: 7, p95Ms: 7 })
  })

  test('is shown without a history while that cannot be read', async () => {
    const figures = (): never => {
      throw new BridgeError('log_unavailable', 'damaged')
    }
    expect(await healthWith({ history: { figures }, standingOf: () => RESTING })).toMatchObject({
      pending: 0,
      lastSuccess: null,
      p50Ms: null,
    })
  })
})
