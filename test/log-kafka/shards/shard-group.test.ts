/** Shards that a group gives, over its silence. On real brokers: test/integration. */
import { expect, test } from 'vitest'
import { shareInGroup } from '../../../src/log-kafka/shards/shard-group.ts'
import { keepingLogger } from '../../support/keeping-logger.ts'
import { createManualClock } from '../../support/time/manual-clock.ts'
import { silentClient, TOPIC } from '../silent-client.ts'

const SESSION_MS = 6_000

/** A member that gets both shards when it joins, and what it was told. */
async function sharing() {
  const clock = createManualClock()
  const client = silentClient([0, 1])
  const { logger } = keepingLogger()
  const told: string[] = []
  const leaving = new AbortController()
  const place = { openSession: () => client.session, clock, logger, groupId: 'g', topic: TOPIC }
  const shared = shareInGroup(
    {
      ...{ ...place, count: 2, held: () => [] },
      assigned: (shards) => told.push(`has ${shards.join()}`),
      expelled: (reason) => told.push(reason),
    },
    leaving.signal,
  )
  await new Promise((resolve) => setImmediate(resolve))
  const leave = async (): Promise<void> => {
    leaving.abort()
    await shared
  }
  return { clock, client, told, leave }
}

test('shards that were lost in silence come back when the group answers the member as before, once', async () => {
  const { clock, client, told, leave } = await sharing()
  client.say('beat')
  clock.advance(SESSION_MS)
  client.say('beat')
  client.say('beat')
  const silence = 'the group has not answered for a session'
  expect(told).toEqual(['has 0,1', silence, 'has 0,1'])
  clock.advance(SESSION_MS)
  client.join('me', [1])
  client.say('beat')
  expect(told.slice(3)).toEqual([silence, 'has 1'])
  await leave()
  expect(clock.nextTimerMs()).toBe(null)
})

test('shards that were lost in silence do not come back while others join', async () => {
  const { clock, client, told, leave } = await sharing()
  clock.advance(SESSION_MS)
  client.say('rebalancing')
  client.say('beat')
  expect(told).toHaveLength(2)
  await leave()
})
