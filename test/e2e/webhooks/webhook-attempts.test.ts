/** Tests the lists of attempts and deliveries of a running bridge against what the receivers saw. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { systemClock } from '../../../src/lifecycle/clock.ts'
import { type Sandbox, startSandbox } from '../../../src/sandbox/sandbox.ts'
import {
  type BridgeProcess,
  bridgeEnv,
  startBridge,
  temporaryDirectory,
} from '../../support/bridge-process.ts'
import { eventually } from '../../support/http/api-client.ts'
import { askEndpoints, LOCAL_RECEIVERS } from '../../support/webhooks/endpoint-api.ts'
import { type Attempt, type Delivery, wholeList } from '../../support/webhooks/webhook-lists.ts'
import { startReceiver, type WebhookReceiver } from '../../support/webhooks/webhook-receiver.ts'

/** The delay of a slow receiver here. */
const SLOW_MS = 300

const directory = temporaryDirectory()
let sandbox: Sandbox
let bridge: BridgeProcess

const start = (): Promise<BridgeProcess> =>
  startBridge(bridgeEnv(sandbox, directory.path, { BRIDGE_UPSTREAM_PLAN: 'advanced', ...LOCAL_RECEIVERS }))

beforeAll(async () => {
  sandbox = await startSandbox(
    { scenario: 'flood', plan: 'advanced', weeklyQuota: 1_000_000, seed: 9 },
    { clock: systemClock },
  )
  bridge = await start()
})
afterAll(async () => {
  await bridge.stop()
  await sandbox.close()
  directory[Symbol.dispose]()
})

const all = <T>(path: string): Promise<T[]> => wholeList(bridge.ready.http, path)
const attemptsOf = (id: string): Promise<Attempt[]> => all(`${id}/attempts`)
const idsOf = ({ received }: WebhookReceiver): string[] =>
  received.map(({ headers }) => String(headers['webhook-id'])).sort()

async function endpoint(receiver: WebhookReceiver): Promise<string> {
  const wanted = { url: receiver.url, maxConcurrency: 2, since: '2000-01-01' }
  return (await askEndpoints(bridge.ready.http, 'POST', '', wanted)).id
}

it('is listed with the right figures, and the same after every restart', async () => {
  await using healthy = await startReceiver()
  await using slow = await startReceiver((response) => {
    systemClock.after(SLOW_MS, () => response.writeHead(204).end())
  })
  await using failing = await startReceiver((response, _, count) =>
    response.writeHead(503, { 'content-type': 'text/plain' }).end(`closed, ${count}`),
  )
  const receivers = [healthy, slow, failing]
  const ids = await Promise.all(receivers.map(endpoint))
  const [healthyId = '', slowId = '', failingId = ''] = ids
  await eventually(
    () => receivers.map(({ received }) => received.length),
    (counts) => counts.every((count) => count >= 5),
  )
  for (const id of ids) await askEndpoints(bridge.ready.http, 'POST', `/${id}/disable`)
  for (const [at, receiver] of receivers.entries()) {
    const attempts = await eventually(
      () => attemptsOf(ids[at] ?? ''),
      ({ length }) => length === receiver.received.length,
    )
    expect(attempts.map(({ webhookId }) => webhookId).sort()).toEqual(idsOf(receiver))
    expect(attempts.map(({ at: time }) => time)).toEqual(
      attempts
        .map(({ at: time }) => time)
        .sort()
        .reverse(),
    )
  }

  for (const { status, outcome, attempt, phase, response } of await attemptsOf(healthyId)) {
    expect([status, outcome, attempt, phase, response]).toEqual([204, 'ok', 1, 'body', null])
  }
  for (const { durationMs } of await attemptsOf(slowId))
    expect(durationMs).toBeGreaterThanOrEqual(SLOW_MS - 5)
  const failed = await attemptsOf(failingId)
  for (const { status, outcome } of failed) expect([status, outcome]).toEqual([503, 'server_error'])
  expect(failed.map(({ response }) => response).sort()).toEqual(
    failing.received.map((_, at) => `closed, ${at + 1}`).sort(),
  )
  expect(await all(`${failingId}/attempts?outcome=ok`)).toEqual([])

  const delivered = await all<Delivery>(`${healthyId}/deliveries`)
  expect(delivered).toHaveLength(healthy.received.length)
  for (const { state, attempts, nextAttempt, lastStatus } of delivered) {
    expect([state, attempts, nextAttempt, lastStatus]).toEqual(['delivered', 1, null, 204])
  }
  const pending = await all<Delivery>(`${failingId}/deliveries?state=pending`)
  expect(new Set(pending.map(({ eventId }) => eventId))).toEqual(
    new Set(failed.map(({ eventId }) => eventId)),
  )
  for (const { eventId, attempts, nextAttempt, lastStatus } of pending) {
    const last = failed.find((one) => one.eventId === eventId)
    expect([lastStatus, attempts]).toEqual([503, last?.attempt])
    expect(Date.parse(nextAttempt ?? '')).toBeGreaterThan(Date.parse(last?.at ?? ''))
  }

  const lists = () => Promise.all(ids.flatMap((id) => [all(`${id}/attempts`), all(`${id}/deliveries`)]))
  const before = await lists()
  expect(await bridge.stop()).toBe(0)
  bridge = await start()
  expect(await lists()).toEqual(before)
  expect(await bridge.stop()).toBe(0)
  bridge = await start()
  expect(await lists()).toEqual(before)
  await askEndpoints(bridge.ready.http, 'DELETE', `/${failingId}`)
  await expect(attemptsOf(failingId)).rejects.toThrow('404')
})
