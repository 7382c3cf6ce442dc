/**
 * Tests the role `webhooks` in the started product: receivers on real sockets, signatures checked by the official
 * library.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { systemClock } from '../../../src/lifecycle/clock.ts'
import { type Sandbox, startSandbox } from '../../../src/sandbox/sandbox.ts'
import {
  type BridgeProcess,
  bridgeEnv,
  startBridge,
  temporaryDirectory,
} from '../../support/bridge-process.ts'
import { eventually, getJson, pullAll } from '../../support/http/api-client.ts'
import { askEndpoints, LOCAL_RECEIVERS, sequencesOf } from '../../support/webhooks/endpoint-api.ts'
import { startReceiver } from '../../support/webhooks/webhook-receiver.ts'
import { owedOf } from '../../support/webhooks/webhook-verdict.ts'

const ENOUGH = 60

/** How many of these rising sequences there are before the first one of the log that is missing. */
function withoutHole(rising: readonly number[], log: readonly number[]): number {
  const begin = log.indexOf(rising[0] ?? 0)
  const hole = rising.findIndex((sequence, index) => sequence !== log[begin + index])
  return hole === -1 ? rising.length : hole
}

describe('webhooks of a bridge', () => {
  const directory = temporaryDirectory()
  let sandbox: Sandbox
  let bridge: BridgeProcess
  const env = (changes: Record<string, string> = {}): Record<string, string> =>
    bridgeEnv(sandbox, directory.path, { BRIDGE_UPSTREAM_PLAN: 'advanced', ...LOCAL_RECEIVERS, ...changes })
  const ask = (method: string, path: string, body?: object) =>
    askEndpoints(bridge.ready.http, method, path, body)
  const sequences = async (query = ''): Promise<number[]> =>
    owedOf(await pullAll(bridge.ready.http, query)).map((event) => Number(event.sequence))
  const rising = (received: Parameters<typeof sequencesOf>[0]): number[] =>
    sequencesOf(received).sort((one, other) => one - other)

  beforeAll(async () => {
    sandbox = await startSandbox(
      { scenario: 'flood', plan: 'advanced', weeklyQuota: 1_000_000, seed: 9 },
      { clock: systemClock },
    )
    bridge = await startBridge(env())
    await eventually(sequences, (all) => all.length > 0)
  })
  afterAll(async () => {
    await bridge.stop()
    await sandbox.close()
    directory[Symbol.dispose]()
  })

  it('arrive once each and in order, filtered for each endpoint, over a restart too', async () => {
    await using one = await startReceiver()
    await using many = await startReceiver()
    const since = '2000-01-01'
    const only = { fcaCategories: ['MSC', 'AGM', 'HOL', 'TVR', 'BOA', 'ACQ'] }
    const slow = await ask('POST', '', { url: one.url, maxConcurrency: 1, since })
    const few = await ask('POST', '', { url: many.url, filter: only, since })
    await eventually(
      () => one.received.length,
      (count) => count >= ENOUGH,
    )
    expect(await bridge.stop()).toBe(0)
    const before = one.received.length
    bridge = await startBridge(env())
    await eventually(
      () => one.received.length,
      (count) => count >= before + ENOUGH,
    )
    await ask('POST', `/${slow.id}/disable`)
    await ask('POST', `/${few.id}/disable`)
    const stopped = sequencesOf(one.received)
    expect(stopped).toEqual((await sequences()).slice(0, stopped.length))
    const wanted = await sequences(`&fcaCategories=${only.fcaCategories.join(',')}`)
    const got = rising(many.received)
    expect(got.length).toBeGreaterThan(0)
    expect(got).toEqual(wanted.slice(0, got.length))
    expect(one.verify(slow.secret)).toHaveLength(one.received.length)
    expect(many.verify(few.secret)).toHaveLength(many.received.length)
    expect(new Set(one.received.map(({ headers }) => headers['webhook-id'])).size).toBe(one.received.length)
  })

  it('wait while the endpoint is paused, and carry both signatures after a rotation', async () => {
    await using receiver = await startReceiver()
    const { id, secret } = await ask('POST', '', { url: receiver.url })
    await ask('PATCH', `/${id}`, { status: 'paused' })
    const { secret: fresh } = await ask('POST', `/${id}/rotate`)
    const before = receiver.received.length
    const [latest = 0] = (await sequences()).slice(-1)
    await eventually(sequences, (all) => (all.at(-1) ?? 0) > latest + 5)
    expect(receiver.received.length - before).toBeLessThanOrEqual(8)
    const paused = receiver.received.length
    await ask('PATCH', `/${id}`, { status: 'active' })
    // Deliveries that were to leave as the pause came are retries afterwards: others may overtake them.
    const { got, log } = await eventually(
      async () => ({ got: rising(receiver.received), log: await sequences() }),
      ({ got, log }) => withoutHole(got, log) > paused + 5,
    )
    await ask('DELETE', `/${id}`)
    expect(new Set(got).size).toBe(got.length)
    const row = got.slice(0, withoutHole(got, log))
    const all = await sequences()
    const begin = all.indexOf(row[0] ?? 0)
    expect(row).toEqual(all.slice(begin, begin + row.length))
    receiver.verify(secret)
    receiver.received.splice(0, paused)
    receiver.verify(fresh)
    expect(receiver.received[0]?.headers['webhook-signature']).toMatch(/^v1,\S+ v1,\S+$/)
  })

  it('stop for an endpoint that answers 410, whose state says so', async () => {
    await using gone = await startReceiver((response) => response.writeHead(410).end())
    const { id } = await ask('POST', '', { url: gone.url, maxConcurrency: 1, since: '2000-01-01' })
    const shown = await eventually(
      () => ask('GET', `/${id}`),
      ({ status }) => status === 'disabled',
    )
    expect(shown.disabledReason).toBe('gone')
    expect(gone.received).toHaveLength(1)
    const { ops } = bridge.ready
    const metrics = await (await fetch(`${ops}/metrics`)).text()
    expect(metrics).toMatch(/^bridge_webhook_disabled_total\{reason="gone"\} 1$/m)
  })

  it('come in signed batches in order to an endpoint with maxBatch, again as a whole after a failure', async () => {
    await using receiver = await startReceiver((response, _, count) =>
      response.writeHead(count === 2 ? 500 : 204).end(),
    )
    const wanted = { url: receiver.url, maxBatch: 7, maxConcurrency: 1, since: '2000-01-01' }
    const { id, secret } = await ask('POST', '', wanted)
    const repeated = () =>
      receiver.received.filter(
        ({ headers }) => headers['webhook-id'] === receiver.received[1]?.headers['webhook-id'],
      )
    await eventually(repeated, (found) => found.length === 2)
    await ask('DELETE', `/${id}`)
    const batches = receiver.verify(secret) as { sequence: string }[][]
    const numbers = batches.map((batch) => batch.map(({ sequence }) => Number(sequence)))
    expect(Math.max(...numbers.map(({ length }) => length))).toBe(7)
    for (const batch of numbers) expect(batch).toEqual([...batch].sort((one, other) => one - other))
    const [first, again] = repeated()
    expect(again?.body).toBe(first?.body)
    expect(first?.headers['content-type']).toBe('application/cloudevents-batch+json; charset=utf-8')
    const failed = numbers[1] ?? []
    const others = numbers.filter((batch) => String(batch) !== String(failed)).flat()
    const all = [...others, ...failed].sort((one, other) => one - other)
    expect(all).toEqual((await sequences()).slice(0, all.length))
  })

  it('show in the health of the endpoint what waits, since when it fails, and how long attempts take', async () => {
    let status = 503
    await using receiver = await startReceiver((response) => response.writeHead(status).end())
    const { id } = await ask('POST', '', { url: receiver.url, maxConcurrency: 1, since: '2000-01-01' })
    const failing = await eventually(
      () => ask('GET', `/${id}`),
      ({ health }) => health.failingSince !== null,
    )
    expect(failing.health).toMatchObject({ dead: 0, lastSuccess: null })
    expect(failing.health.pending).toBeGreaterThan(0)
    expect(Date.parse(failing.health.oldestPending ?? '')).toBeLessThan(Date.now())
    status = 204
    const well = await eventually(
      () => ask('GET', `/${id}`),
      ({ health }) => health.failingSince === null && health.lastSuccess !== null,
    )
    expect(well.health.p50Ms).toBeGreaterThanOrEqual(0)
    expect(well.health.p95Ms).toBeGreaterThanOrEqual(well.health.p50Ms ?? 0)
    await ask('DELETE', `/${id}`)
  })

  it('are measured, and the node reports its shards as healthy', async () => {
    const scrape = await (await fetch(`${bridge.ready.ops}/metrics`)).text()
    expect(scrape).toMatch(/^bridge_webhook_attempts_total\{outcome="ok"\} [1-9]/m)
    expect(scrape).toMatch(/^bridge_webhook_attempts_total\{outcome="gone"\} 1$/m)
    expect(scrape).toMatch(/^bridge_webhook_endpoints\{status="disabled"\} 3$/m)
    expect(scrape).toMatch(/^bridge_webhook_shards\{state="held"\} [1-9]/m)
    expect(scrape).toMatch(/^bridge_webhook_shards\{state="stuck"\} 0$/m)
    const { checks } = await getJson<{ checks: object }>(`${bridge.ready.ops}/readyz`)
    expect(checks).toMatchObject({ endpoints: true, webhooks: true })
  })

  it('in flight at a stop end inside its time and are not repeated; a hanging one is repeated with its id', async () => {
    await using slow = await startReceiver((response) => setTimeout(() => response.writeHead(204).end(), 700))
    await using hung = await startReceiver(() => undefined)
    const made = [slow, hung].map(({ url }) =>
      ask('POST', '', { url, maxConcurrency: 2, since: '2000-01-01' }),
    )
    const [first, second] = await Promise.all(made)
    await eventually(
      () => Math.min(slow.received.length, hung.received.length),
      (count) => count >= 2,
    )
    const beganMs = performance.now()
    expect(await bridge.stop()).toBe(0)
    expect(performance.now() - beganMs).toBeLessThan(10_000)
    const [ended, cut] = [[...slow.received], [...hung.received]]
    bridge = await startBridge(env())
    await eventually(
      () => Math.min(slow.received.length - ended.length, hung.received.length - cut.length),
      (count) => count >= 2,
    )
    await Promise.all([first, second].map((one) => ask('DELETE', `/${one?.id}`)))
    const ids = slow.received.map(({ headers }) => headers['webhook-id'])
    expect(new Set(ids).size).toBe(ids.length)
    const idsOf = (received: typeof cut) => received.map(({ headers }) => headers['webhook-id']).sort()
    expect(idsOf(hung.received.slice(2, 4))).toEqual(idsOf(cut))
  })

  it('reach no address that the process settings refuse, whatever was accepted earlier', async () => {
    await using receiver = await startReceiver()
    await ask('POST', '', { url: receiver.url, since: '2000-01-01' })
    await bridge.stop()
    receiver.received.splice(0)
    bridge = await startBridge(env({ BRIDGE_WEBHOOK_ALLOW_NETS: '10.0.0.0/8' }))
    const named = receiver.url.replace('127.0.0.1', 'localhost')
    await ask('POST', '', { url: named, since: '2000-01-01' })
    await eventually(
      async () => (await fetch(`${bridge.ready.ops}/metrics`)).text(),
      (scrape) => Number(/^bridge_webhook_attempts_total\{outcome="blocked"\} (\d+)$/m.exec(scrape)?.[1]) > 8,
    )
    expect(receiver.received).toHaveLength(0)
  })
})
