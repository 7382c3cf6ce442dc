/** Tests a group member whose client goes silent, as kafkajs may. On real brokers: test/integration. */
import { expect, test } from 'vitest'
import { GroupMember } from '../../../src/log-kafka/group/group-member.ts'
import { keepingLogger } from '../../support/keeping-logger.ts'
import { createManualClock } from '../../support/time/manual-clock.ts'
import { silentClient, TOPIC } from '../silent-client.ts'

function member() {
  const clock = createManualClock()
  const client = silentClient()
  const { logger, lines } = keepingLogger()
  const events: string[] = []
  const assigner = () => ({
    name: 'a',
    version: 1,
    assign: async () => [],
    protocol: () => ({ name: 'a', metadata: Buffer.alloc(0) }),
  })
  const place = {
    ...{ openSession: () => client.session, clock, logger, groupId: 'g', topic: TOPIC, doing: 'testing' },
    events: {
      unavailable: 'leader.group_unavailable',
      recovered: 'leader.group_recovered',
      rebalancing: 'leader.rebalancing',
    } as const,
  }
  const leaving = new AbortController()
  const running = new GroupMember(place, assigner, {
    assigned: (memberId, partitions) => events.push(`${memberId} holds ${partitions.join()}`),
    lost: (reason) => events.push(reason),
  }).run(leaving.signal)
  const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
  return { clock, client, events, lines, leaving, running, settled }
}

test('a member rejoins when the group is silent for too long, and leaves no timer behind', async () => {
  const { clock, client, events, lines, leaving, running, settled } = member()
  await settled()
  expect(events).toEqual(['me holds 0'])
  for (const word of ['beat', 'rebalancing', 'join', 'rebalancing'] as const) {
    clock.advance(word === 'join' ? 14_999 : 5_999)
    client.say(word, { memberId: 'me', memberAssignment: {} })
  }
  clock.advance(14_999)
  await settled()
  expect([events, client.ended()]).toEqual([['me holds 0', 'me holds '], 0])
  clock.advance(1)
  await settled()
  expect(events.at(-1)).toBe('nothing was heard for 15 s')
  expect([client.ended(), client.stops()]).toEqual([1, 1])
  expect(lines.filter(({ event }) => event === 'leader.group_unavailable')).toHaveLength(1)
  clock.advance(500)
  await settled()
  expect(events.at(-1)).toBe('me holds 0')
  expect(lines.at(-1)).toMatchObject({ event: 'leader.group_recovered' })
  leaving.abort(new Error('enough'))
  await running
  expect(clock.nextTimerMs()).toBe(null)
})

test('a member that leaves has no timer and no session left', async () => {
  const { clock, client, leaving, running, settled } = member()
  await settled()
  leaving.abort(new Error('enough'))
  await running
  expect(client.ended()).toBe(1)
  expect(clock.nextTimerMs()).toBe(null)
})
