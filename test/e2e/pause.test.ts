/** A pause of polling on the embedded log, in real processes: kept over a restart, and after it nothing is missing. */
import { expect, it } from 'vitest'
import { systemClock } from '../../src/lifecycle/clock.ts'
import { type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts'
import {
  ADMIN_TOKEN,
  type BridgeProcess,
  bridgeEnv,
  runToEnd,
  startBridge,
  temporaryDirectory,
} from '../support/bridge-process.ts'
import { eventually, pullAll } from '../support/http/api-client.ts'
import { statusOf } from '../support/product/bridge-status.ts'
import { compare, expectComplete } from '../support/worlds/completeness.ts'

/** A page of the plan lite has 50. */
const MORE_THAN_TWO_PAGES = 120

it('a pause holds over a restart while items arrive upstream; after it nothing is missing', async () => {
  using directory = temporaryDirectory()
  const sandbox = await startSandbox(
    { scenario: 'quiet', plan: 'lite', weeklyQuota: 1_000_000, seed: 5 },
    { clock: systemClock },
  )
  try {
    const start = () => startBridge(bridgeEnv(sandbox, directory.path, { BRIDGE_UPSTREAM_PLAN: 'lite' }))
    let bridge = await start()
    await eventually(sandbox.usage, ({ units }) => units > 1)
    expect(await admin(bridge, 'pause', '--reason', 'the key changes')).toMatchObject({
      paused: true,
      by: 'settings',
      reason: 'the key changes',
    })
    await quiet(sandbox)
    await expectPaused(bridge)
    const { units } = sandbox.usage()
    publish(sandbox, 'before', MORE_THAN_TWO_PAGES)
    await bridge.stop()
    bridge = await start()
    await eventually(
      () => statusOf(bridge),
      ({ leader, polling }) => leader.self && polling.paused === true,
    )
    await expectPaused(bridge)
    expect(bridge.stderr()).toContain('"polling.paused"')
    publish(sandbox, 'after', 5)
    // The first poll of a process leaves within a second where it may.
    await quiet(sandbox)
    expect(sandbox.usage().units).toBe(units)
    expect(await admin(bridge, 'resume')).toMatchObject({ paused: false })
    const truth = [...sandbox.truth().items]
    const events = await eventually(
      () => pullAll(bridge.ready.http),
      (pulled) => compare(truth, pulled).missing.length === 0,
      60_000,
    )
    expectComplete(truth, events)
    const { polling, upstream } = await statusOf(bridge)
    expect(polling).toEqual({ paused: false, since: null, by: null, reason: null })
    expect(upstream.nextPoll).not.toBeNull()
    expect(await opsText(bridge, '/metrics')).toContain('bridge_polling_paused 0')
    await bridge.stop()
  } finally {
    await sandbox.close()
  }
}, 180_000)

/** Runs `bridge admin` against that bridge; its answer. */
async function admin(bridge: BridgeProcess, ...args: string[]): Promise<unknown> {
  const env = { BRIDGE_TOKEN: ADMIN_TOKEN }
  const { code, stdout } = await runToEnd(['admin', ...args, '--json', '--url', bridge.ready.http], env)
  expect(code).toBe(0)
  return JSON.parse(stdout)
}

/** Status, readiness and metrics of that bridge say that polling is paused. */
async function expectPaused(bridge: BridgeProcess): Promise<void> {
  const { polling, upstream } = await statusOf(bridge)
  expect(polling).toMatchObject({ paused: true, by: 'settings', reason: 'the key changes' })
  expect(upstream.nextPoll).toBeNull()
  expect(JSON.parse(await opsText(bridge, '/readyz'))).toMatchObject({ ready: true, polling: 'paused' })
  expect(await opsText(bridge, '/metrics')).toContain('bridge_polling_paused 1')
}

/** Waits for the time of three polls: the plan has one a second. What has begun is answered long before. */
function quiet(sandbox: Sandbox): Promise<unknown> {
  const untilMs = sandbox.marketNow() + 3000
  return eventually(
    () => sandbox.marketNow(),
    (nowMs) => nowMs >= untilMs,
  )
}

function publish(sandbox: Sandbox, name: string, count: number): void {
  const timestamp = new Date(sandbox.marketNow()).toISOString()
  sandbox.publish(
    Array.from({ length: count }, (_, n) => ({
      guid: `urn:newsml:example:${name}:${n}`,
      timestamp,
      headline: `Item ${name} ${n}`,
      issuer: { name: 'Alpha' },
    })),
  )
}

async function opsText({ ready }: BridgeProcess, path: string): Promise<string> {
  return (await fetch(`${ready.ops}${path}`)).text()
}
