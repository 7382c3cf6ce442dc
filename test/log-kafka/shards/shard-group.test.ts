/** Tests shard assignments while the group is silent. On real brokers: test/integration. */
import { expect, test } from 'vitest'
import { assignInGroup } from '../../../src/log-kafka/shards/shard-group.ts'
import { keepingLogger } from '../../support/keeping-logger.ts'
import { createManualClock } from '../../support/time/manual-clock.ts'
import { silentClient, TOPIC } from '../silent-client.ts'

const SESSION_MS = 6_000

/** A member that is assigned both shards when it joins, and its assignments. */
async function assignment() {
  const clock = createManualClock()
  const client = silentClient([0, 1])
  const { logger } = keepingLogger()
  const events: string[] = []
  const leaving = new AbortController()
  const place = { openSession: () => client.session, clock, logger, groupId: 'g', topic: TOPIC }
  const assigning = assignInGroup(
    {
      ...{ ...place, count: 2, held: () => [] },
      assigned: (shards) => events.push(`has ${shards.join()}`),
      expelled: (reason) => events.push(reason),
    },
    leaving.signal,
  )
  await new Promise((resolve) => setImmediate(resolve))
  const leave = async (): Promise<void> => {
    leaving.abort()
    await assigning
  }
  return { clock, client, events, leave }
}

test('shards lost by silence are assigned again, once, when the group answers the member', async () => {
  const { clock, client, events, leave } = await assignment()
  client.say('beat')
  clock.advance(SESSION_MS)
  client.say('beat')
  client.say('beat')
  const silence = 'the group has not answered for a session'
  expect(events).toEqual(['has 0,1', silence, 'has 0,1'])
  clock.advance(SESSION_MS)
  client.join('me', [1])
  client.say('beat')
  expect(events.slice(3)).toEqual([silence, 'has 1'])
  await leave()
  expect(clock.nextTimerMs()).toBe(null)
})

test('shards lost by silence are not assigned again while others join', async () => {
  const { clock, client, events, leave } = await assignment()
  clock.advance(SESSION_MS)
  client.say('rebalancing')
  client.say('beat')
  expect(events).toHaveLength(2)
  await leave()
})
