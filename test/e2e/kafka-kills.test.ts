/** Two bridges on one Kafka, of which the leader is killed at each place where a claim or a commit can be cut in two. */
import { describe, expect, it } from 'vitest'
import { seededChance } from '../../src/core/chance.ts'
import { eventually } from '../support/api-client.ts'
import { expectWhole, startBridges } from '../support/kafka/bridges.ts'
import { kafkaRuntime } from '../support/kafka/for-tests.ts'

const runtime = await kafkaRuntime()
const SEED = 11

describe.skipIf(runtime === null)('bridges on Kafka of which the leader is killed', () => {
  it('publish each item once, in every topic, wherever the leader dies in a claim or a commit', async () => {
    if (runtime === null) return
    await using world = await startBridges(runtime, SEED)
    const chance = seededChance(SEED)
    const crashes: [place: string, count: number][] = [
      ['beforeCommit', chance.between(6, 10)],
      ['afterSend', chance.between(4, 10)],
      ['afterFence', 1],
      ['afterCommit', chance.between(4, 10)],
      ['afterNonce', 1],
      ['moment', chance.between(500, 2_000)],
    ]
    const [one, other] = world.places
    const live = async (place: typeof one) => {
      for (let crash = crashes.shift(); crash !== undefined; crash = crashes.shift())
        expect(await (await place.start(crash)).ended).toBe(null)
      return place.start()
    }
    const lives = Promise.all([live(one), live(other)])
    await eventually(
      () => world.sandbox.usage().requests,
      (requests) => requests > 0,
    )
    world.begin()
    const [first, second] = await lives
    await world.cameToRest(first.ready.http)
    expect([await first.stop(), await second.stop()]).toEqual([0, 0])
    await expectWhole(world)
  }, 240_000)
})
