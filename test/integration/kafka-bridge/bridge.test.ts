/** Tests the product on Kafka, as processes: every node serves what one writes, and a node's disk is only a replica. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { systemClock } from '../../../src/lifecycle/clock.ts'
import { type Sandbox, startSandbox } from '../../../src/sandbox/sandbox.ts'
import { bridgeEnv, runToEnd, startBridge, temporaryDirectory } from '../../support/bridge-process.ts'
import { bearer, eventually, getJson, pullAll } from '../../support/http/api-client.ts'
import { kafkaClient, uniqueName } from '../../support/kafka/clients.ts'
import { sharedBrokers } from '../../support/kafka/for-tests.ts'
import { readTopic } from '../../support/kafka/read-topic.ts'

interface Readiness {
  ready: boolean
  checks: Record<string, boolean | number>
}

const brokers = await sharedBrokers()
const ENOUGH = 60
/** A write on one node takes effect on all within this time (contract §6). */
const SOON_MS = 1000

describe.skipIf(brokers === null)('a bridge on Kafka', () => {
  let sandbox: Sandbox
  const kafka = {
    BRIDGE_KAFKA_BROKERS: (brokers ?? []).join(','),
    BRIDGE_TOPIC_PREFIX: uniqueName('bridge'),
    BRIDGE_UPSTREAM_PLAN: 'advanced',
  }

  beforeAll(async () => {
    sandbox = await startSandbox(
      { scenario: 'flood', plan: 'advanced', weeklyQuota: 1_000_000, seed: 5 },
      { clock: systemClock },
    )
  })
  afterAll(() => sandbox?.close())

  it('serves the same events on a node that does not poll, from an empty disk, and after a restart', async () => {
    using first = temporaryDirectory()
    using second = temporaryDirectory()
    const poller = await startBridge(bridgeEnv(sandbox, first.path, { ...kafka, BRIDGE_BACKFILL: 'P1D' }))
    const reader = await startBridge(
      bridgeEnv(sandbox, second.path, { ...kafka, BRIDGE_ROLES: 'api,feed', BRIDGE_LOG_LEVEL: 'debug' }),
    )
    expect([poller.ready.log, reader.ready.log]).toEqual(['kafka', 'kafka'])
    const enough = (events: unknown[]): boolean => events.length >= ENOUGH
    await eventually(() => pullAll(reader.ready.http), enough)
    const [status] = await readTopic(kafkaClient(brokers ?? []), `${kafka.BRIDGE_TOPIC_PREFIX}.status`, 1)
    expect(status?.headers).toEqual({ 'content-type': 'application/json' })
    expect(JSON.parse(String(status?.value))).toMatchObject({
      type: 'heartbeat',
      epoch: expect.stringMatching(/^[0-9A-Za-z]{8}$/),
      sequence: expect.any(Number),
      openGaps: 0,
      quotaRemaining: expect.any(Number),
    })
    await sharesTokens(poller.ready.http, reader.ready.http)
    const reported = await dayReported(brokers ?? [], `${kafka.BRIDGE_TOPIC_PREFIX}.status`)
    const { data } = await eventually(
      () => getJson<{ data: Record<string, unknown>[] }>(`${reader.ready.http}/v1/report`),
      (report) => report.data.length === 2,
    )
    expect(reported).toEqual({ type: 'day', ...data[0] })
    expect(reported).toMatchObject({
      filled: 0,
      swept: 0,
      rejected: 0,
      gapsLeft: 0,
      eodSeen: expect.any(Boolean),
    })
    expect(await poller.stop()).toBe(0)
    const written = await eventually(() => pullAll(reader.ready.http), enough)
    const ready = await eventually(
      () => readiness(reader.ready.ops),
      (answer) => answer.ready,
    )
    expect(ready.checks).toMatchObject({ log: true, copy: true, tokens: true })
    expect(await reader.stop()).toBe(0)

    using fresh = temporaryDirectory()
    const again = await startBridge(bridgeEnv(sandbox, fresh.path, { ...kafka, BRIDGE_ROLES: 'api,feed' }))
    const served = await eventually(
      () => pullAll(again.ready.http),
      (events) => events.length >= written.length,
    )
    expect(served).toEqual(written)
    expect(await again.stop()).toBe(0)
  })

  it('is checked by the doctor, which reports differences from the settings and changes nothing', async () => {
    using directory = temporaryDirectory()
    const env = { ...kafka, BRIDGE_TOPIC_RETENTION: 'P7D', BRIDGE_ROLES: 'api' }
    const { stdout, stderr, code } = await runToEnd(
      ['doctor', '--json'],
      bridgeEnv(sandbox, directory.path, { ...env, BRIDGE_HTTP_PORT: '65001' }),
    )
    if (stdout === '') throw new Error(stderr)
    const { checks } = JSON.parse(stdout) as { checks: { level: string; name: string; finding: string }[] }
    const of = (name: string) => checks.filter((check) => check.name === name)
    expect(of('kafka')).toMatchObject([{ level: 'ok', finding: '1 broker answers' }])
    expect(of('topics')).toMatchObject([
      { level: 'warn', finding: expect.stringContaining('replication 1') },
      {
        level: 'warn',
        finding: expect.stringMatching(/^retention.ms is 31536000000, not 604800000: .* more$/),
      },
    ])
    expect(of('rights')).toMatchObject([{ level: 'ok' }])
    expect(code).toBe(0)
  })
})

/** A token made on one node is valid on the other within a second; deleting it ends its stream and its session there within a second. */
async function sharesTokens(here: string, there: string): Promise<void> {
  const json = { ...bearer, 'content-type': 'application/json' }
  const body = JSON.stringify({ tenant: 'desk', scopes: ['events:read'] })
  const made = await fetch(`${here}/v1/tokens`, { method: 'POST', headers: json, body })
  const { id, token } = (await made.json()) as { id: string; token: string }
  const headers = { authorization: `Bearer ${token}` }
  const statusOf = async (): Promise<number> => (await fetch(`${there}/v1/status`, { headers })).status
  await eventually(statusOf, (status) => status === 200, SOON_MS)
  const signedIn = await fetch(`${here}/v1/sessions`, { method: 'POST', headers })
  const [given = ''] = (signedIn.headers.get('set-cookie') ?? '').split(';')
  // Behind a proxy both nodes have one address; here the name has the port.
  const cookie = given.replace(/^bridge-\d+/, `bridge-${new URL(there).port}`)
  const sessionStatus = async (): Promise<number> =>
    (await fetch(`${there}/v1/me`, { headers: { cookie, 'sec-fetch-site': 'same-origin' } })).status
  expect([signedIn.status, await sessionStatus()]).toEqual([201, 200])
  const stream = await fetch(`${there}/v1/events`, { headers })
  let isOver = false
  const over = stream.text().then(() => {
    isOver = true
  })
  expect([stream.status, isOver]).toEqual([200, false])
  const deleted = await fetch(`${here}/v1/tokens/${id}`, { method: 'DELETE', headers: bearer })
  expect(deleted.status).toBe(204)
  await eventually(
    () => isOver,
    (ended) => ended,
    SOON_MS,
  )
  await over
  expect([await statusOf(), await sessionStatus()]).toEqual([401, 401])
}

/** The first day in the status topic, as a plain consumer reads it. */
async function dayReported(addresses: readonly string[], topic: string): Promise<Record<string, unknown>> {
  for (let count = 3; ; count++) {
    const records = await readTopic(kafkaClient(addresses), topic, count)
    const said = records.map(({ value }) => JSON.parse(String(value)) as Record<string, unknown>)
    const day = said.find(({ type }) => type === 'day')
    if (day !== undefined) return day
  }
}

async function readiness(ops: string): Promise<Readiness> {
  return (await (await fetch(`${ops}/readyz`)).json()) as Readiness
}
