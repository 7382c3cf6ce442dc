import { resolve } from 'node:path'
import { expect, it } from 'vitest'
import { systemClock } from '../../../src/lifecycle/clock.ts'
import { startSandbox } from '../../../src/sandbox/sandbox.ts'
import { bridgeEnv, startBridge, temporaryDirectory } from '../../support/bridge-process.ts'
import { eventually } from '../../support/http/api-client.ts'

const FAST_BRIDGE = resolve(import.meta.dirname, 'fast-bridge-child.ts')

interface FaultLine {
  level: string
  event: string
  what: string
  hint?: string
  durationMs: number
}

/** The lines of the log on faults that last. */
function faultLines(bridge: { stderr(): string }): FaultLine[] {
  return bridge
    .stderr()
    .split('\n')
    .filter((line) => line.includes('"event":"fault.'))
    .map((line) => JSON.parse(line) as FaultLine)
}

async function upstream() {
  const sandbox = await startSandbox({ scenario: 'quiet', plan: 'advanced' }, { clock: systemClock })
  const change = async (method: 'POST' | 'DELETE', fault?: object): Promise<void> => {
    const body = fault && { headers: { 'content-type': 'application/json' }, body: JSON.stringify(fault) }
    expect((await fetch(`${sandbox.adminUrl}/faults`, { method, ...body })).status).toBe(200)
  }
  return { sandbox, change }
}

it('a refused key is one error at once, with what to do, and one line when the key is taken again', async () => {
  using directory = temporaryDirectory()
  const { sandbox, change } = await upstream()
  await change('POST', { kind: 'status', status: 401, count: 1000 })
  const bridge = await startBridge(bridgeEnv(sandbox, directory.path))
  try {
    await eventually(
      () => faultLines(bridge),
      (lines) => lines.length > 0,
    )
    await change('DELETE')
    const lines = await eventually(
      () => faultLines(bridge),
      (found) => found.length > 1,
      60_000,
    )
    expect(lines).toMatchObject([
      {
        level: 'error',
        event: 'fault.lasting',
        what: 'key_refused',
        hint: expect.stringContaining('BRIDGE_UPSTREAM_KEY'),
      },
      { level: 'info', event: 'fault.over', what: 'key_refused' },
    ])
    expect(await bridge.stop()).toBe(0)
  } finally {
    await bridge.stop('SIGKILL')
    await sandbox.close()
  }
})

it('an upstream that fails for minutes is one error, and one line when it is well', async () => {
  using directory = temporaryDirectory()
  const { sandbox, change } = await upstream()
  await change('POST', { kind: 'status', status: 500, count: 100_000 })
  const bridge = await startBridge(bridgeEnv(sandbox, directory.path), [], FAST_BRIDGE)
  try {
    await eventually(
      () => faultLines(bridge),
      (lines) => lines.length > 0,
      60_000,
    )
    await change('DELETE')
    const lines = await eventually(
      () => faultLines(bridge),
      (found) => found.length > 1,
      60_000,
    )
    expect(lines).toMatchObject([
      { level: 'error', event: 'fault.lasting', what: 'upstream_unavailable' },
      { level: 'info', event: 'fault.over', what: 'upstream_unavailable' },
    ])
    for (const { durationMs } of lines) expect(durationMs).toBeGreaterThanOrEqual(5 * 60_000)
    expect(await bridge.stop()).toBe(0)
  } finally {
    await bridge.stop('SIGKILL')
    await sandbox.close()
  }
})

it('a Kafka that stays away is one error, although tokens, endpoints and webhooks wait for it too', async () => {
  using directory = temporaryDirectory()
  const env = { BRIDGE_ROLES: 'api,feed,webhooks', BRIDGE_KAFKA_BROKERS: '127.0.0.1:1' }
  const bridge = await startBridge(bridgeEnv({ url: '', key: '' }, directory.path, env), [], FAST_BRIDGE)
  try {
    const readyz = async () =>
      (await (await fetch(`${bridge.ready.ops}/readyz`)).json()) as { checks: object }
    expect((await readyz()).checks).toMatchObject({ log: false, tokens: false, endpoints: false })
    await eventually(
      () => faultLines(bridge),
      (lines) => lines.length > 0,
      60_000,
    )
    expect(await bridge.stop()).toBe(0)
    expect(faultLines(bridge)).toMatchObject([{ level: 'error', what: 'kafka_unavailable' }])
  } finally {
    await bridge.stop('SIGKILL')
  }
})
