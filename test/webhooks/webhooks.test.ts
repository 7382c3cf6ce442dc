import { describe, expect, onTestFinished, test } from 'vitest'
import { encodeCursor } from '../../src/core/cursor.ts'
import { newSecret } from '../../src/core/signature.ts'
import { aborted } from '../../src/lifecycle/aborted.ts'
import type { Clock } from '../../src/lifecycle/clock.ts'
import { systemClock } from '../../src/lifecycle/clock.ts'
import type { Log } from '../../src/log/log.ts'
import type { Shards } from '../../src/log/shards.ts'
import type { Change } from '../../src/log/tables.ts'
import { createMetrics } from '../../src/obs/metrics.ts'
import { ENDPOINTS_TABLE } from '../../src/registry/endpoint-rows.ts'
import type { NewEndpoint } from '../../src/registry/endpoints.ts'
import { addressRules } from '../../src/webhooks/address/rules.ts'
import { type DeliveryRow, deadKey } from '../../src/webhooks/delivery-state/delivery-rows.ts'
import { createSecretBox } from '../../src/webhooks/endpoints/secrets.ts'
import { createSender } from '../../src/webhooks/send/sender.ts'
import { Webhooks } from '../../src/webhooks/webhooks.ts'
import { createDeliveryAccount } from '../../src/webhooks/worker/delivery-account.ts'
import { RowBudget } from '../../src/webhooks/worker/row-budget.ts'
import { SHARD_COUNT, SHARDS, shardOf } from '../../src/webhooks/worker/shard-of.ts'
import { until } from '../support/http/api-server.ts'
import { keepingLogger } from '../support/keeping-logger.ts'
import { createMemoryLog } from '../support/memory-log.ts'
import { createScriptedReader, EPOCH } from '../support/streams/scripted-reader.ts'
import { createManualClock } from '../support/time/manual-clock.ts'
import { endpointNode, wantedEndpoint } from '../support/webhooks/endpoints.ts'
import { startReceiver } from '../support/webhooks/webhook-receiver.ts'

const KEY = 'the key of this test, of thirty-two characters'
const box = createSecretBox({ key: KEY, oldKey: null })
const shardsOf = (log: Log): Shards<DeliveryRow> => log.shards<DeliveryRow>(SHARDS, SHARD_COUNT)

/** An endpoint whose secret this bridge can open. */
function wanted(parts: Partial<NewEndpoint> = {}): NewEndpoint {
  const endpoint = wantedEndpoint({ start: createScriptedReader(systemClock).reader.cursorAt(0), ...parts })
  return { ...endpoint, secrets: [{ wrapped: box.wrap(newSecret(), endpoint.id), untilMs: null }] }
}

/** The role over that log, running until the test ends. */
async function startRole(log: Log, clock: Clock, secrets = box, rowBudget = new RowBudget()) {
  const { endpoints } = await endpointNode(log)
  const scripted = createScriptedReader(clock)
  const { logger, lines } = keepingLogger()
  const metrics = createMetrics({ version: '0' })
  const rules = addressRules({ allowNets: ['127.0.0.0/8'], allowHttp: true, ports: [443] })
  const sender = createSender({ rules, proxyUrl: null, clock, mostConnections: 100 })
  const account = createDeliveryAccount({ clock, metrics, logger })
  const webhooks = new Webhooks({
    log,
    reader: scripted.reader,
    endpoints,
    secrets,
    attempt: sender.attempt,
    onAttempted: account.attempted,
    measureShards: account.measure,
    drainTimeoutMs: 5000,
    mostAttempts: 8192,
    rowBudget,
    disable: ({ id, version }, reason) => endpoints.disable(id, version, reason),
    notify: async () => undefined,
    clock,
    chance: () => 0.5,
    metrics,
    logger,
  })
  const stop = new AbortController()
  const running = webhooks.run(stop.signal)
  onTestFinished(async () => {
    stop.abort()
    await running
    await sender.close()
  })
  return { webhooks, endpoints, scripted, lines, stop, running }
}

/** The rows in the shard of that endpoint. */
async function rowsOf(log: Log, endpointId: string): Promise<string[]> {
  const stop = new AbortController()
  const keys: string[] = []
  await shardsOf(log).own(async (shard) => {
    if (shard.number === shardOf(endpointId)) keys.push(...shard.rows.keys())
    if (shard.number === SHARD_COUNT - 1) stop.abort()
  }, stop.signal)
  return keys
}

/** Writes rows of another process to the shard of that endpoint; by default its position. */
async function leaveRow(log: Log, endpointId: string, rows?: Change<DeliveryRow>[]): Promise<void> {
  const cursor = createScriptedReader(systemClock).reader.cursorAt(0)
  const row: DeliveryRow = { kind: 'position', cursor, ahead: [], failingSinceMs: null }
  const stop = new AbortController()
  await shardsOf(log).own(async (shard) => {
    if (shard.number !== shardOf(endpointId)) return
    await shard.write(rows ?? [{ key: `${endpointId}/position`, value: row }])
    stop.abort()
  }, stop.signal)
}

test('an endpoint maps to the same shard in every version', () => {
  expect(['ep_a', 'ep_b', 'ep_01JABCDEFG', 'x'].map(shardOf)).toEqual([14, 11, 46, 2])
})

describe('the webhook role', () => {
  test('requests no shard before an endpoint exists, and then runs a worker for each', async () => {
    const log = createMemoryLog()
    const { webhooks, endpoints } = await startRole(log, createManualClock())
    expect(await rowsOf(log, 'ep_a')).toEqual([])
    expect(webhooks.workerOf('ep_a')).toBeNull()
    await endpoints.create(wanted())
    await until(() => webhooks.workerOf('ep_a') !== null && webhooks.workerOf('ep_b') !== null)
    expect(webhooks.isWell()).toBe(true)
  })

  test('decrypts the secret of an endpoint once, also when another endpoint is added', async () => {
    const opened: string[] = []
    const noting = {
      ...box,
      unwrap(wrapped: string, endpointId: string): string {
        opened.push(endpointId)
        return box.unwrap(wrapped, endpointId)
      },
    }
    const { webhooks, endpoints } = await startRole(createMemoryLog(), createManualClock(), noting)
    await endpoints.create(wanted({ id: 'ep_a' }))
    await until(() => webhooks.workerOf('ep_a')?.endpointIds().has('ep_a') === true)
    expect(opened).toEqual(['ep_a'])
    await endpoints.create(wanted({ id: 'ep_b' }))
    await until(() => opened.includes('ep_b'))
    expect(opened).toEqual(['ep_a', 'ep_b'])
  })

  test('deletes the rows of an endpoint that was deleted, here or earlier, and of no other', async () => {
    const log = createMemoryLog()
    const clock = createManualClock()
    await log.table(ENDPOINTS_TABLE).put('ep_newer', { kind: 'of a version to come' })
    for (const id of ['ep_gone', 'ep_newer', 'ep_here', 'ep_there']) await leaveRow(log, id)
    const { webhooks, endpoints, stop, running } = await startRole(log, clock)
    for (const id of ['ep_here', 'ep_there']) await endpoints.create(wanted({ id }))
    await until(() => webhooks.workerOf('ep_gone')?.endpointIds().has('ep_gone') === true)
    await until(() => webhooks.workerOf('ep_there')?.endpointIds().has('ep_there') === true)
    await endpoints.delete('ep_there', () => undefined)
    await until(() => {
      clock.advance(100)
      return ['ep_gone', 'ep_there'].every((id) => webhooks.workerOf(id)?.endpointIds().has(id) === false)
    })
    stop.abort()
    await running
    expect(await rowsOf(log, 'ep_gone')).toEqual([])
    expect(await rowsOf(log, 'ep_there')).toEqual([])
    expect(await rowsOf(log, 'ep_newer')).toEqual(['ep_newer/position'])
    expect(await rowsOf(log, 'ep_here')).toEqual(['ep_here/position'])
  })

  test('forgets the oldest dead deliveries of a tenant that has too many rows, and says so, in their health for good', async () => {
    const log = createMemoryLog()
    const clock = createManualClock()
    const dead = Array.from({ length: 50 }, (_, at): Change<DeliveryRow> => {
      const cursor = encodeCursor({ epoch: EPOCH, sequence: at + 1, timeMs: 0 })
      const facts = { eventId: `e${at}`, tries: 9, lastStatus: 500, cause: 'tries', diedAtMs: 0 } as const
      return { key: deadKey('ep_a', at + 1), value: { kind: 'dead', cursor, ...facts } }
    })
    await leaveRow(log, 'ep_a', dead)
    const budget = new RowBudget({ tenantBytes: 10_000 })
    const { endpoints, scripted, lines, stop, running } = await startRole(log, clock, box, budget)
    for (let count = 0; count < 50; count++) scripted.add({})
    await endpoints.create(wanted({ id: 'ep_a', status: 'paused' }))
    await until(() => {
      clock.advance(100)
      return lines.some(({ event }) => event === 'webhook.dead_forgotten')
    })
    stop.abort()
    await running
    expect(lines.find(({ event }) => event === 'webhook.dead_forgotten')?.fields).toMatchObject({
      tenant: 'desk',
      count: 25,
    })
    const left = (await rowsOf(log, 'ep_a')).filter((key) => key.includes('/dead/'))
    expect(left.sort()).toEqual(Array.from({ length: 25 }, (_, at) => deadKey('ep_a', 26 + at)))

    const { webhooks, scripted: again } = await startRole(log, clock, box, budget)
    for (let count = 0; count < 50; count++) again.add({})
    const standing = () => webhooks.workerOf('ep_a')?.standing('ep_a') ?? null
    await until(() => standing() !== null)
    expect(standing()).toMatchObject({ dead: 25, forgotten: 25 })
  })

  test('reports unhealthy four seconds after a write began that does not end, and logs the shard once', async () => {
    const memory = createMemoryLog()
    const clock = createManualClock()
    let letGo = Promise.withResolvers<void>()
    const log: Log = {
      ...memory,
      shards: (name, count) => ({
        loadingSinceMs: null,
        own: (work, signal) =>
          memory.shards<never>(name, count).own(
            (shard) =>
              work({
                ...shard,
                async write(changes) {
                  await letGo.promise
                  await shard.write(changes as never)
                },
              }),
            signal,
          ),
      }),
    }
    const { webhooks, endpoints, lines } = await startRole(log, clock)
    await endpoints.create(wanted({ id: 'ep_a' }))
    await until(() => {
      clock.advance(10)
      return typeof webhooks.workerOf('ep_a')?.writingSinceMs === 'number'
    })
    clock.advance(3900)
    expect(webhooks.isWell()).toBe(true)
    clock.advance(200)
    expect(webhooks.isWell()).toBe(false)
    await until(() => {
      clock.advance(1000)
      return lines.some(({ event }) => event === 'webhook.shards_stuck')
    })
    expect(lines.at(-1)).toMatchObject({ level: 'error', fields: { shard: shardOf('ep_a'), count: 1 } })
    const laterMs = clock.now() + 10_000
    await until(() => {
      clock.advance(1000)
      return clock.now() >= laterMs
    })
    letGo.resolve()
    letGo = Promise.withResolvers()
    letGo.resolve()
    await until(() => {
      clock.advance(1000)
      return lines.some(({ event }) => event === 'webhook.shards_recovered')
    })
    expect(lines.filter(({ event }) => event === 'webhook.shards_stuck')).toHaveLength(1)
    expect(webhooks.isWell()).toBe(true)
  })

  test('reports unhealthy four seconds after an assigned shard could not be loaded', async () => {
    const clock = createManualClock()
    let loadingSinceMs: number | null = null
    const log: Log = {
      ...createMemoryLog(),
      shards: () => ({
        own: (_work, signal) => aborted(signal),
        get loadingSinceMs() {
          return loadingSinceMs
        },
      }),
    }
    const { webhooks, lines } = await startRole(log, clock)
    loadingSinceMs = clock.now()
    clock.advance(3999)
    expect(webhooks.isWell()).toBe(true)
    clock.advance(1)
    expect(webhooks.isWell()).toBe(false)
    await until(() => {
      clock.advance(1000)
      return lines.some(({ event }) => event === 'webhook.shards_stuck')
    })
    expect(lines.at(-1)).toMatchObject({ level: 'error', fields: { state: 'loading' } })
    loadingSinceMs = null
    expect(webhooks.isWell()).toBe(true)
  })

  test('counts as delivering from sixteen attempts under way on, not for one receiver that hangs', async () => {
    const answers: (() => void)[] = []
    await using receiver = await startReceiver((response) => {
      answers.push(() => response.writeHead(204).end())
    })
    const { webhooks, endpoints, scripted } = await startRole(createMemoryLog(), systemClock)
    await endpoints.create(wanted({ url: receiver.url, maxConcurrency: 64 }))
    for (let count = 0; count < 15; count++) scripted.add({})
    await until(() => answers.length === 15)
    expect(webhooks.isDelivering()).toBe(false)
    scripted.add({})
    await until(() => answers.length === 16)
    expect(webhooks.isDelivering()).toBe(true)
    for (const answer of answers) answer()
    await until(() => !webhooks.isDelivering())
  })

  test('sends nothing to an endpoint whose secret no key opens, logs that, and delivers once it is rotated', async () => {
    const log = createMemoryLog()
    await using receiver = await startReceiver()
    const { endpoints, scripted, lines } = await startRole(log, systemClock)
    const shut = createSecretBox({ key: KEY.toUpperCase(), oldKey: null }).wrap(newSecret(), 'ep_shut')
    const lost = [{ wrapped: shut, untilMs: null }]
    await endpoints.create({ ...wanted({ id: 'ep_shut', url: receiver.url }), secrets: lost })
    await endpoints.create(wanted({ id: 'ep_open', url: receiver.url }))
    scripted.add({})
    await until(() => receiver.received.length > 0)
    expect(lines).toContainEqual({
      level: 'error',
      event: 'webhook.secret_unreadable',
      fields: expect.objectContaining({ endpointId: 'ep_shut' }),
    })
    const secret = newSecret()
    const secrets = [
      { wrapped: box.wrap(secret, 'ep_shut'), untilMs: null },
      { wrapped: shut, untilMs: systemClock.now() + 60_000 },
    ]
    receiver.received.splice(0)
    await endpoints.update('ep_shut', () => ({ secrets }))
    await until(() => receiver.received.length > 0)
    expect(receiver.verify(secret)).toHaveLength(1)
  })
})
