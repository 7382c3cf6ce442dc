import { describe, expect, test } from 'vitest'
import { encodeCursor } from '../../../src/core/cursor.ts'
import { DAY_MS, MINUTE_MS } from '../../../src/core/durations.ts'
import type { NewEndpoint } from '../../../src/registry/endpoints.ts'
import { type AttemptRecord, attemptPage } from '../../../src/webhooks/attempts/attempt-record.ts'
import type { DeliveryStanding } from '../../../src/webhooks/delivery-state/endpoint-state.ts'
import type { PlaceSources } from '../../../src/webhooks/health/delivery-place.ts'
import { gapAt, inPlace } from '../../archive/samples.ts'
import { type ApiServer, startApi, TOKEN, until } from '../../support/http/api-server.ts'
import { ask, tokenOf } from '../../support/http/ask.ts'
import { EPOCH, eventAt, REPLICA } from '../../support/store.ts'
import { recordOf } from '../../support/webhooks/attempted.ts'
import { wantedEndpoint } from '../../support/webhooks/endpoints.ts'

const RESTING: DeliveryStanding = {
  pending: 0,
  oldestMs: null,
  dead: 0,
  forgotten: 0,
  failingSinceMs: null,
  unreadAfter: null,
}
/** Of the tests' events, which are recorded at 07:00 of 6 January 2026. */
const RECORDED_MS = Date.parse(eventAt(10).recordedtime)

/** A machine that has read up to there, and holds these deliveries. */
const machine = (readTo: number, ...held: number[]): ReturnType<PlaceSources['machineOf']> =>
  ({
    cursors: { live: { progress: { readTo } } },
    isUnfinished: (sequence: number) => held.includes(sequence),
  }) as unknown as ReturnType<PlaceSources['machineOf']>

const cursor = (sequence: number, epoch = EPOCH): string =>
  encodeCursor({ epoch, sequence, timeMs: sequence === 0 ? 0 : eventAt(sequence).timeMs })

async function endpointIn(api: ApiServer, parts: Partial<NewEndpoint> = {}): Promise<string> {
  const made = await api.endpoints.create(wantedEndpoint(parts))
  if (typeof made === 'string') throw new Error(made)
  return made.id
}

async function remember(
  api: ApiServer,
  endpointId: string,
  ...attempts: Partial<AttemptRecord>[]
): Promise<void> {
  const nowMs = api.clock.now()
  const records = attempts.map((parts, at) => recordOf({ endpointId, atMs: nowMs - 9000 + at, ...parts }))
  await api.attempts.append([attemptPage(EPOCH, records)])
  const kept = async () => (await ask(api, TOKEN, `/v1/webhooks/${endpointId}/attempts`)).body.data
  await until(async () => (await kept()).length === attempts.length)
}

const deliveries = (api: ApiServer, name: number | string, token = TOKEN, query = '') =>
  ask(api, token, `/v1/disclosures/${encodeURIComponent(name)}/deliveries${query}`)

/** The reason and state of the only endpoint, for the event at 10. */
async function only(api: ApiServer, name: number | string = 10) {
  const { body } = await deliveries(api, name)
  const { matched, state, why } = body.data[0]
  return [matched, state, why && [why.reason, ...why.members]]
}

/** What is said of the event at 10 where an endpoint with these settings has come so far. */
async function saidOf(
  parts: Partial<NewEndpoint>,
  {
    standing = null,
    at,
    ageMs = DAY_MS,
  }: { standing?: DeliveryStanding | null; at?: ReturnType<typeof machine>; ageMs?: number } = {},
) {
  await using api = await startApi({
    count: 20,
    standingOf: () => standing,
    machineOf: () => at ?? null,
  })
  api.clock.set(RECORDED_MS + ageMs)
  await endpointIn(api, parts)
  return await only(api)
}

describe('GET /v1/disclosures/{id}/deliveries', () => {
  test('lists each endpoint with what became of the event there', async () => {
    await using api = await startApi({ count: 20, standingOf: () => RESTING })
    const [delivered, waiting, dead] = [
      await endpointIn(api, { id: 'ep_000000000000000000001', description: 'the desk' }),
      await endpointIn(api, { id: 'ep_000000000000000000002' }),
      await endpointIn(api, { id: 'ep_000000000000000000003' }),
    ]
    const eventId = eventAt(10).id
    const dueMs = api.clock.now() + 5000
    await remember(api, delivered, { sequence: 10, eventId }, { sequence: 9 })
    await remember(api, waiting, {
      sequence: 10,
      eventId,
      status: 503,
      outcome: 'server_error',
      result: 'retry',
      dueMs,
    })
    await remember(api, dead, {
      sequence: 10,
      eventId,
      attempt: 9,
      status: null,
      outcome: 'timeout',
      result: 'dead',
    })
    const { status, body } = await deliveries(api, eventId)
    const common = {
      url: 'https://hooks.example/in',
      description: null,
      status: 'active',
      matched: true,
      why: null,
    }
    expect([status, body]).toEqual([
      200,
      {
        data: [
          {
            ...common,
            endpointId: delivered,
            description: 'the desk',
            state: 'delivered',
            attempts: 1,
            nextAttempt: null,
            lastStatus: 204,
          },
          {
            ...common,
            endpointId: waiting,
            state: 'pending',
            attempts: 1,
            nextAttempt: new Date(dueMs).toISOString(),
            lastStatus: 503,
          },
          { ...common, endpointId: dead, state: 'dead', attempts: 9, nextAttempt: null, lastStatus: null },
        ],
        next: null,
      },
    ])
    expect((await deliveries(api, 10)).body).toEqual(body)
    expect(Object.keys(body.data[0])).toEqual([
      'endpointId',
      'url',
      'description',
      'status',
      'matched',
      'state',
      'attempts',
      'nextAttempt',
      'lastStatus',
      'why',
    ])
  })

  test('names the members of the filter that leave the event out', async () => {
    const filter = { symbols: ['VOD'], fcaCategories: ['FR'], filters: [{ q: 'nothing' }] }
    expect(await saidOf({ filter })).toEqual([false, null, ['filter', 'symbols', 'filters[0].q']])
    expect(await saidOf({ filter: { exclude: { fcaCategories: ['FR'] } } })).toEqual([
      false,
      null,
      ['filter', 'exclude'],
    ])
    expect(await saidOf({ filter: { types: ['amended'] } })).toEqual([false, null, ['filter', 'types']])
  })

  test('says that a gap event needs an opt-in', async () => {
    await using api = await startApi({ count: 1, standingOf: () => RESTING })
    const { archive, recentEvents } = api.store
    archive.append(inPlace([gapAt('g', RECORDED_MS)], 2, EPOCH))
    recentEvents.reset(2)
    await endpointIn(api)
    expect(await only(api, 'gap:g:opened')).toEqual([false, null, ['type']])
  })

  test.each<[string, Partial<NewEndpoint>, unknown[]]>([
    ['before its start', { start: cursor(10) }, [true, null, ['before_start']]],
    ['after its start', { start: cursor(9) }, [true, null, ['no_record']]],
    [
      'of an epoch that began after it was made',
      { start: cursor(20, 'Epoch000') },
      [true, null, ['other_epoch']],
    ],
  ])('says of an event %s why it was not delivered', async (_, parts, said) => {
    expect(await saidOf(parts, { standing: RESTING })).toEqual(said)
  })

  test('says after a restore that an event before its start is not sent', async () => {
    await using api = await startApi({ count: 20, standingOf: () => ({ ...RESTING, unreadAfter: 9 }) })
    api.store.archive.setEarlierEpochs({ through: 15, epochs: { Epoch000: 15 } })
    await endpointIn(api, { start: cursor(12, 'Epoch000') })
    expect(await only(api, 10)).toEqual([true, null, ['before_start']])
    expect(await only(api, 13)).toEqual([true, 'pending', ['not_read']])
  })

  test.each<[string, Parameters<typeof saidOf>[1], string | null, string]>([
    ['its machine has not read it', { at: machine(9) }, 'pending', 'not_read'],
    ['its machine holds it', { at: machine(12, 10) }, 'pending', 'under_way'],
    ['its machine has passed it', { at: machine(12, 11) }, null, 'no_record'],
    [
      'the delivering node has not read it',
      { standing: { ...RESTING, unreadAfter: 9 } },
      'pending',
      'not_read',
    ],
    ['the delivering node has passed it', { standing: { ...RESTING, unreadAfter: 10 } }, null, 'no_record'],
    [
      'something as old waits on the delivering node',
      { standing: { ...RESTING, pending: 1, oldestMs: RECORDED_MS } },
      null,
      'unknown',
    ],
    [
      'only younger events wait there',
      { standing: { ...RESTING, pending: 1, oldestMs: RECORDED_MS + 1 } },
      null,
      'no_record',
    ],
    ['no node has said', {}, null, 'unknown'],
    ['no node has said, and it is a minute old', { ageMs: MINUTE_MS }, null, 'unknown'],
    ['it is a minute old', { standing: RESTING, ageMs: MINUTE_MS }, 'pending', 'under_way'],
  ])('where %s', async (_, known, state, reason) => {
    expect(await saidOf({}, known)).toEqual([true, state, [reason]])
    const paused = reason === 'no_record' ? reason : 'paused'
    expect(await saidOf({ status: 'paused' }, known)).toEqual([true, state, [paused]])
    const disabled = reason === 'no_record' ? reason : 'disabled'
    expect(await saidOf({ status: 'disabled' }, known)).toEqual([true, state, [disabled]])
  })

  test('a replay of an event that the filter leaves out is under way', async () => {
    expect(await saidOf({ filter: { q: 'nothing' } }, { at: machine(12, 10) })).toEqual([
      false,
      'pending',
      ['under_way'],
    ])
  })

  test('a paused endpoint with a failed attempt keeps its state and says that it is paused', async () => {
    await using api = await startApi({ count: 20, standingOf: () => RESTING })
    const id = await endpointIn(api, { status: 'paused' })
    const dueMs = api.clock.now() + 5000
    await remember(api, id, {
      sequence: 10,
      eventId: eventAt(10).id,
      status: 500,
      outcome: 'server_error',
      result: 'retry',
      dueMs,
    })
    expect(await only(api)).toEqual([true, 'pending', ['paused']])
  })

  test('a delivery of another event at that sequence, of a log that was replaced, does not count', async () => {
    await using api = await startApi({ count: 20, standingOf: () => RESTING })
    await remember(api, await endpointIn(api), { sequence: 10, eventId: 'another' })
    api.clock.set(RECORDED_MS + DAY_MS)
    expect(await only(api)).toEqual([true, null, ['no_record']])
  })

  test('a tenant sees its own endpoints, page by page, and the token of the settings all', async () => {
    await using api = await startApi({ count: 3 })
    const own = [await endpointIn(api), await endpointIn(api), await endpointIn(api)].sort()
    await endpointIn(api, { tenant: 'other' })
    const token = await tokenOf(api, 'desk', ['webhooks:read'])
    const ids = ({ body }: Awaited<ReturnType<typeof deliveries>>) =>
      body.data.map(({ endpointId }: { endpointId: string }) => endpointId)
    const first = await deliveries(api, 1, token, '?limit=2')
    const second = await deliveries(api, 1, token, `?limit=2&after=${first.body.next}`)
    expect([ids(first), ids(second), second.body.next]).toEqual([own.slice(0, 2), own.slice(2), null])
    expect(ids(await deliveries(api, 1))).toHaveLength(4)
    expect((await deliveries(api, 1, await tokenOf(api, 'nobody', ['webhooks:read']))).body).toEqual({
      data: [],
      next: null,
    })
  })

  test('refuses wrong scopes, events that are not there, wrong parameters and an incomplete replica', async () => {
    await using api = await startApi({ count: 3, first: 41 })
    const token = await tokenOf(api, 'desk', ['events:read'])
    expect((await deliveries(api, 41, token)).status).toBe(403)
    expect((await deliveries(api, 'nothing')).status).toBe(404)
    expect((await deliveries(api, 44, TOKEN, '?limt=1')).status).toBe(404)
    expect((await deliveries(api, 40)).status).toBe(410)
    expect((await deliveries(api, 41, TOKEN, '?limt=1')).status).toBe(400)
    expect((await deliveries(api, 41, TOKEN, '?after=x')).status).toBe(400)
    const filling = { sequence: 1, goal: 2, share: 0.5 }
    await using filled = await startApi({ count: 1, replica: { ...REPLICA, filling } })
    expect((await deliveries(filled, 1)).status).toBe(503)
  })
})
