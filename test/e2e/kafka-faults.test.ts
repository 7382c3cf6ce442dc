/** Two bridges on one Kafka while the leader is frozen, its commits are held back or unanswered, and the broker goes. */
import { setTimeout as wait } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { eventually } from '../support/api-client.ts'
import type { BridgeProcess } from '../support/bridge-process.ts'
import { type Bridges, expectWhole, startBridges } from '../support/kafka/bridges.ts'
import { kafkaRuntime } from '../support/kafka/for-tests.ts'
import { apiKeys } from '../support/kafka/frames.ts'

const runtime = await kafkaRuntime()
const AWAY_MS = 30_000

describe.skipIf(runtime === null)('bridges on Kafka through faults', () => {
  it('publish each item once through a frozen leader, late and unanswered commits, and a broker that goes', async () => {
    if (runtime === null) return
    await using world = await startBridges(runtime, 12)
    const [one, other] = world.places
    const first = await one.start()
    await morePolls(world, 1)
    const second = await other.start()
    world.begin()
    await morePolls(world, 3)

    first.child.kill('SIGSTOP')
    await said(second, 'leader.won')
    await eventually(other.front.requests, (requests) => requests > 2)
    const beforeFreeze = one.front.requests()
    first.child.kill('SIGCONT')
    await said(first, 'leader.lost')
    await morePolls(world, 3)
    expect(one.front.requests()).toBe(beforeFreeze)

    const held = world.proxy.hold(apiKeys.endTxn)
    await held.caught()
    held.lift()
    world.proxy.cut()
    await morePolls(world, 2)
    expect(held.release()).toBe(1)
    await morePolls(world, 2)

    const dropped = world.proxy.dropReplies(apiKeys.endTxn)
    await dropped.caught()
    dropped.lift()
    world.proxy.cut()
    await morePolls(world, 2)

    const [node] = world.cluster.nodes
    await node?.kill()
    await node?.start()
    await morePolls(world, 2)

    const hole = world.proxy.blackHole()
    await hole.caught()
    const beforeAway = world.sandbox.usage().requests
    await wait(AWAY_MS)
    // One may have been written down before Kafka went.
    expect(world.sandbox.usage().requests).toBeLessThanOrEqual(beforeAway + 1)
    hole.lift()
    await world.cameToRest(first.ready.http)
    expect([await first.stop(), await second.stop()]).toEqual([0, 0])
    await expectWhole(world)
  }, 240_000)
})

/** Resolves when the upstream has had so many requests more. */
async function morePolls({ sandbox }: Bridges, count: number): Promise<void> {
  const before = sandbox.usage().requests
  await eventually(
    () => sandbox.usage().requests,
    (requests) => requests >= before + count,
    60_000,
  )
}

async function said(bridge: BridgeProcess, event: string): Promise<void> {
  await eventually(bridge.stderr, (text) => text.includes(`"event":"${event}"`))
}
