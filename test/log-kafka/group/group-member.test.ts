/** A member of a group over a client that goes silent, as kafkajs may. On real brokers: test/integration. */
import { expect, test } from 'vitest'
import { beMember, type Membership } from '../../../src/log-kafka/group/group-member.ts'
import { createManualClock } from '../../support/time/manual-clock.ts'
import { silentClient, TOPIC } from '../silent-client.ts'

function member() {
  const clock = createManualClock()
  const client = silentClient()
  const heard: string[] = []
  const membership: Membership = {
    assigner: () => ({
      name: 'a',
      version: 1,
      assign: async () => [],
      protocol: () => ({ name: 'a', metadata: Buffer.alloc(0) }),
    }),
    formerId: () => null,
    joined: (memberId, partitions) => heard.push(`${memberId} holds ${partitions.join()}`),
    heard: () => heard.push('beat'),
    rebalancing: () => heard.push('rebalancing'),
  }
  const leaving = new AbortController()
  const place = { openSession: () => client.session, clock, groupId: 'g', topic: TOPIC }
  const being = beMember(place, membership, leaving.signal)
  let failure: unknown = null
  being.catch((error: unknown) => {
    failure = error
  })
  const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
  return { clock, client, heard, leaving, being, settled, failure: () => failure }
}

test('a member that hears nothing any more ends, so that it can begin anew', async () => {
  const { clock, client, heard, being, settled, failure } = member()
  await settled()
  expect(heard).toEqual(['me holds 0'])
  for (const word of ['beat', 'rebalancing', 'join', 'beat'] as const) {
    clock.advance(14_999)
    client.say(word, { memberId: 'me', memberAssignment: {} })
  }
  clock.advance(14_999)
  await settled()
  expect(failure()).toBe(null)
  clock.advance(1)
  await expect(being).rejects.toThrow('nothing was heard for 15 s')
  expect(client.ended()).toBe(1)
  await settled()
  expect(client.stops()).toBe(1)
  expect(clock.nextTimerMs()).toBe(null)
})

test('who leaves is not watched any more', async () => {
  const { clock, client, leaving, being, settled } = member()
  await settled()
  leaving.abort(new Error('enough'))
  await being
  expect(client.ended()).toBe(1)
  expect(clock.nextTimerMs()).toBe(null)
})
