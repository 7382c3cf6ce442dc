/** Tests webhook delivery on the embedded log while the disk fills up and gets space again. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { seededChance } from '../../../src/core/chance.ts'
import { systemClock } from '../../../src/lifecycle/clock.ts'
import { type Sandbox, startSandbox } from '../../../src/sandbox/sandbox.ts'
import { type BridgeProcess, bridgeEnv, startBridge, startCommand } from '../../support/bridge-process.ts'
import { type ApiEvent, eventually, pullAll } from '../../support/http/api-client.ts'
import { canHaveSmallDisk, type SmallDisk, startSmallDisk } from '../../support/small-disk.ts'
import { askEndpoints, LOCAL_RECEIVERS } from '../../support/webhooks/endpoint-api.ts'
import {
  receiverScripts,
  type ScriptedReceivers,
  startScriptedReceivers,
} from '../../support/webhooks/scripted-receivers.ts'
import { allTaken, judgeWebhooks, type OwedEndpoint, owedOf } from '../../support/webhooks/webhook-verdict.ts'

/** Enough for the log and its side files, and some more. */
const DISK_BYTES = 24 * 1024 * 1024
/** A stuck shard is reported within five seconds; the rest is for a machine under load. */
const TOLD_MS = 8000
/** The delays of two endpoints; the slow one has a delivery in flight most of the time. */
const CONCURRENCY = { slow: 8, failing: 8 } as const
/** Their filter matches a part of the flood, so that all of it is delivered within seconds. */
const CATEGORIES = ['MSC', 'AGM', 'HOL', 'TVR', 'BOA', 'ACQ']

describe.skipIf(!canHaveSmallDisk())('webhook deliveries on a full disk', () => {
  let disk: SmallDisk
  let receiver: ScriptedReceivers
  let sandbox: Sandbox
  let bridge: BridgeProcess
  let made: Omit<OwedEndpoint, 'owed'>[]

  const env = (): Record<string, string> =>
    bridgeEnv(sandbox, disk.path, {
      BRIDGE_UPSTREAM_PLAN: 'advanced',
      BRIDGE_DRAIN_TIMEOUT: 'PT4S',
      ...LOCAL_RECEIVERS,
    })
  const start = (): Promise<BridgeProcess> => startBridge(env(), undefined, undefined, disk.inside)
  const health = async (): Promise<{ status: number; checks: Record<string, boolean> }> => {
    const answer = await fetch(`${bridge.ready.ops}/readyz`)
    const { checks } = (await answer.json()) as { checks: Record<string, boolean> }
    return { status: answer.status, checks }
  }
  const isReady = async (): Promise<boolean> => (await health()).status === 200
  const said = (event: string): number => bridge.stderr().split(`"event":"${event}"`).length - 1
  const pullWanted = (): Promise<ApiEvent[]> =>
    pullAll(bridge.ready.http, `&fcaCategories=${CATEGORIES.join(',')}`)
  /** Resolves when both have accepted every matching event of the log. */
  const delivered = async (): Promise<OwedEndpoint[]> => {
    const held = await pullWanted()
    const owed = made.map((one) => ({ ...one, owed: owedOf(held) }))
    await eventually(
      () => allTaken(owed, receiver.receipts),
      (all) => all,
      60_000,
    )
    return owed
  }

  beforeEach(async () => {
    disk = await startSmallDisk(DISK_BYTES)
    receiver = await startScriptedReceivers(receiverScripts, seededChance(1))
    sandbox = await startSandbox(
      { scenario: 'flood', plan: 'advanced', weeklyQuota: 1_000_000, seed: 3 },
      { clock: systemClock },
    )
    bridge = await start()
    await eventually(isReady, (ready) => ready)
    made = []
    for (const [name, maxConcurrency] of Object.entries(CONCURRENCY)) {
      const filter = { fcaCategories: CATEGORIES }
      const wanted = { url: receiver.url(name), maxConcurrency, since: '2000-01-01', filter }
      const { id, secret } = await askEndpoints(bridge.ready.http, 'POST', '', wanted)
      made.push({ receiver: name, id, secret, maxConcurrency, order: 'none' })
    }
    await eventually(
      () => receiver.receipts.filter((one) => one.receiver === 'slow' && one.end === null).length,
      (underWay) => underWay > 2,
    )
    disk.fill()
  })

  afterEach(async () => {
    await bridge.stop()
    await sandbox.close()
    await receiver[Symbol.asyncDispose]()
    await disk[Symbol.asyncDispose]()
  })

  it('wait, as the health check reports in seconds and the log once, and go out when there is space', async () => {
    await eventually(health, ({ status }) => status === 503, TOLD_MS)
    await eventually(health, ({ checks }) => checks.webhooks === false, TOLD_MS)
    await eventually(() => said('webhook.shards_stuck'), Boolean, TOLD_MS)
    expect(await health()).toMatchObject({ status: 503, checks: { log: false, webhooks: false } })
    expect(bridge.stderr()).toMatch(/"event":"webhook.shards_stuck".*"shard":\d+/)
    const scraped = await (await fetch(`${bridge.ready.ops}/metrics`)).text()
    expect(scraped).toMatch(/^bridge_webhook_shards\{state="stuck"\} [1-9]/m)
    expect(scraped).toMatch(/^bridge_ready\{check="webhooks"\} 0$/m)
    const held = await pullWanted()
    await expect(askEndpoints(bridge.ready.http, 'POST', `/${made[0]?.id}/disable`)).rejects.toThrow('503')
    disk.makeRoom()
    await eventually(isReady, (ready) => ready)
    // The node may be ready before the poller's next commit.
    await eventually(pullWanted, ({ length }) => length > held.length, 30_000)
    const owed = await delivered()
    await eventually(() => said('attempt_history.write_recovered'), Boolean)
    const scrape = await (await fetch(`${bridge.ready.ops}/metrics`)).text()
    expect(scrape).toMatch(/^bridge_webhook_journal_dropped_total 0$/m)
    // One line each for a lasting fault; the poller logs its commit and then its claim.
    expect([said('webhook.shards_stuck'), said('attempt_history.write_failed')]).toEqual([1, 1])
    expect(said('log.unavailable')).toBeLessThanOrEqual(2)
    expect(judgeWebhooks(owed, receiver.receipts, 0).broken).toEqual([])
  })

  it('are at most repeated if the process stops meanwhile, and lost attempt records are logged', async () => {
    await eventually(
      () => said('webhook.shard_write_failed') * said('attempt_history.write_failed'),
      Boolean,
      TOLD_MS,
    )
    await eventually(
      () => receiver.receipts.filter(({ end }) => end === null).length,
      (underWay) => underWay === 0,
    )
    expect(await bridge.stop()).toBe(0)
    expect(bridge.stderr()).toMatch(/"event":"attempt_history.dropped".*"count":[1-9]/)
    receiver.killed()
    // SQLite has deleted its side file, which freed some space.
    disk.fill()
    const refused = startCommand(['run'], env(), undefined, disk.inside)
    const ended = eventually(
      () => refused.child.exitCode,
      (code) => code !== null,
    )
    expect(await ended.finally(() => refused.stop())).toBe(1)
    expect(refused.stderr()).toContain('The disk is full: free space')
    disk.makeRoom()
    bridge = await start()
    const owed = await delivered()
    expect(judgeWebhooks(owed, receiver.receipts, 1).broken).toEqual([])
  })
})
