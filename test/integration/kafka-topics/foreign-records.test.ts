/** Tests a bridge whose topics get records of another program: it skips them, and stops cleanly where its own rows are damaged. */
import { describe, expect, it } from 'vitest'
import { systemClock } from '../../../src/lifecycle/clock.ts'
import { startSandbox } from '../../../src/sandbox/sandbox.ts'
import {
  type BridgeProcess,
  bridgeEnv,
  type CommandProcess,
  runToEnd,
  startBridge,
  startCommand,
  temporaryDirectory,
} from '../../support/bridge-process.ts'
import { bearer, eventually, getJson } from '../../support/http/api-client.ts'
import { kafkaClient, uniqueName } from '../../support/kafka/clients.ts'
import { sharedBrokers } from '../../support/kafka/for-tests.ts'

const brokers = await sharedBrokers()

interface Line {
  event: string
  level: string
  topic?: string
  reason?: string
  exitCode?: number
}

describe.skipIf(brokers === null)('a record that no bridge wrote', () => {
  it('is skipped in tables, journals and events, and said once; in place of a row it stops the bridge cleanly', async () => {
    using directory = temporaryDirectory()
    const sandbox = await startSandbox(
      { scenario: 'demo', plan: 'advanced', weeklyQuota: 1_000_000 },
      { clock: systemClock },
    )
    const prefix = uniqueName('foreign')
    const tables = `${prefix}.internal.tables`
    const audit = `${prefix}.internal.journal.audit`
    const env = bridgeEnv(sandbox, directory.path, {
      BRIDGE_UPSTREAM_PLAN: 'advanced',
      BRIDGE_KAFKA_BROKERS: (brokers ?? []).join(','),
      BRIDGE_TOPIC_PREFIX: prefix,
    })
    let bridge = await startReady(env)
    try {
      const before = await createToken(bridge, 'before')
      await eventually(
        () => audited(bridge),
        (targets) => targets.length === 1,
      )
      for (const topic of [tables, audit])
        for (const key of ['foreign', 'again']) await send(topic, key, 'hello')
      await send(tables, 'of-a-newer-version/x', 'hello')
      await send(`${prefix}.all`, 'foreign', 'hello')
      const after = await createToken(bridge, 'after')
      const targets = await eventually(
        () => audited(bridge),
        ({ length }) => length === 2,
      )
      expect(targets).toEqual([after, before])
      const warned = linesOf(bridge).filter(({ event }) => event === 'log.foreign_record')
      expect(warned.map(({ level, topic }) => [level, topic]).sort()).toEqual(
        [audit, tables].sort().map((topic) => ['warn', topic]),
      )
      await eventually(
        () => linesOf(bridge).filter(({ event }) => event === 'log.foreign_event'),
        ({ length }) => length === 1,
      )
      expect(await runToEnd(['repair'], env)).toMatchObject({
        code: 0,
        stdout: expect.stringContaining('nothing to repair'),
      })

      await send(tables, `tokens/${before}`, 'hello')
      await expectCleanStop(bridge)
      await expectCleanStop(startCommand(['run'], env))
      await send(tables, `tokens/${before}`, null)
      bridge = await startReady(env)
      expect(await getJson<{ data: { id: string }[] }>(`${bridge.ready.http}/v1/tokens`)).toMatchObject({
        data: [{ id: after }],
      })
    } finally {
      await bridge.stop()
      await sandbox.close()
    }
  }, 120_000)
})

async function startReady(env: Record<string, string>): Promise<BridgeProcess> {
  const bridge = await startBridge(env)
  await eventually(
    () => fetch(`${bridge.ready.ops}/readyz`),
    ({ ok }) => ok,
    30_000,
  )
  return bridge
}

async function expectCleanStop(bridge: CommandProcess): Promise<void> {
  expect(await bridge.ended).toBe(1)
  const ends = linesOf(bridge).filter(({ event }) => event.startsWith('process.stop'))
  expect(ends).toMatchObject([
    {
      event: 'process.stopping',
      reason: 'fault',
      exitCode: 1,
      error: { code: 'log_damaged', hint: expect.stringContaining('no value') },
    },
    { event: 'process.stopped', exitCode: 1 },
  ])
}

function linesOf(bridge: CommandProcess): Line[] {
  const lines = bridge.stderr().split('\n')
  return lines.filter((line) => line.startsWith('{')).map((line) => JSON.parse(line) as Line)
}

async function createToken({ ready }: BridgeProcess, name: string): Promise<string> {
  const response = await fetch(`${ready.http}/v1/tokens`, {
    method: 'POST',
    headers: { ...bearer, 'content-type': 'application/json' },
    body: JSON.stringify({ tenant: 'desk', scopes: ['events:read'], name }),
  })
  expect(response.status).toBe(201)
  return ((await response.json()) as { id: string }).id
}

async function audited({ ready }: BridgeProcess): Promise<(string | null)[]> {
  const { data } = await getJson<{ data: { target: string | null; outcome: string }[] }>(
    `${ready.http}/v1/audit`,
  )
  return data.filter(({ outcome }) => outcome === 'done').map(({ target }) => target)
}

/** As another program does; null: a tombstone. */
async function send(topic: string, key: string, value: string | null): Promise<void> {
  const producer = kafkaClient(brokers ?? []).producer()
  await producer.connect()
  try {
    await producer.send({ topic, messages: [{ key, value, partition: 0 }] })
  } finally {
    await producer.disconnect()
  }
}
