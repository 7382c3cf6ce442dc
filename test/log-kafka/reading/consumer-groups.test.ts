/** Tests the list of consumer groups against a cluster that fails in parts, which no broker does on demand. */
import { expect, test } from 'vitest'
import { BridgeError } from '../../../src/errors.ts'
import type { ConsumerGroups } from '../../../src/log/consumers.ts'
import type { KafkaSession } from '../../../src/log-kafka/client/client.ts'
import type { Fetched, KafkaRecord } from '../../../src/log-kafka/client/partition-protocol.ts'
import { listConsumerGroups, MOST_EXAMINED } from '../../../src/log-kafka/reading/consumer-groups.ts'
import { createManualClock } from '../../support/time/manual-clock.ts'

/** A cluster in which each topic has ten events at the offsets 0 to 9. */
interface FakeCluster {
  /** Positions of groups in topics. */
  groups: Record<string, Record<string, number>>
  /** The first offset that every topic still has. */
  earliest?: number
  /** Fails a request: the name of its group or topic, or `describe`. */
  fails?: Record<string, Error>
  /** Groups and topics that were asked for, in their order. */
  asked?: string[]
}

const clock = createManualClock()
const EVENTS = 10

function sessionWith({ groups, earliest = 0, fails = {}, asked = [] }: FakeCluster): KafkaSession {
  const ask = (name: string): void => {
    asked.push(name)
    const error = fails[name]
    if (error !== undefined) throw error
  }
  const admin = {
    connect: async () => undefined,
    listGroups: async () => ({ groups: Object.keys(groups).map((groupId) => ({ groupId })) }),
    async fetchOffsets({ groupId }: { groupId: string }) {
      ask(groupId)
      return Object.entries(groups[groupId] ?? {}).map(([topic, offset]) => ({
        topic,
        partitions: [{ partition: 0, offset: `${offset}` }],
      }))
    },
    async describeGroups(names: string[]) {
      ask('describe')
      return { groups: names.map((groupId) => ({ groupId, state: 'Stable', members: [{}] })) }
    },
  }
  const partitions = {
    async offsets(topic: string) {
      ask(topic)
      return { earliest, lastStable: EVENTS, end: EVENTS }
    },
    async fetch(_topic: string, from: number): Promise<Fetched> {
      const records: KafkaRecord[] = Array.from({ length: EVENTS - from }, (_, at) => ({
        offset: from + at,
        timestampMs: 0,
        key: null,
        value: null,
        headers: {
          ce_topicsequence: Buffer.from(`${from + at + 1}`),
          ce_recordedtime: Buffer.from(new Date(clock.now() - 5000).toISOString()),
        },
      }))
      return { errorCode: 0, records, nextOffset: EVENTS, lastStableOffset: EVENTS }
    },
  }
  return { kafka: { admin: () => admin }, partitions, end: () => undefined } as unknown as KafkaSession
}

function list(cluster: FakeCluster, limit = 100): Promise<ConsumerGroups> {
  const parts = { openSession: () => sessionWith(cluster), clock }
  return listConsumerGroups(parts, 'p', { after: null, limit }, new AbortController().signal)
}

test('what one topic or the states cannot be asked for is unknown and said; the rest is there', async () => {
  const away = new Error('no leader')
  const { groups, incomplete } = await list({
    groups: { desk: { 'p.all': 4, 'p.fca.FR': 0 } },
    fails: { 'p.fca.FR': away, describe: away },
  })
  expect(groups).toEqual([
    {
      ...{ group: 'desk', state: null, members: null },
      topics: [
        { topic: 'p.all', events: 6, ms: 5000 },
        { topic: 'p.fca.FR', events: null, ms: null },
      ],
    },
  ])
  expect(incomplete).toBe(
    'States of groups may be missing. Kafka: asking failed: no leader. Ask again later. ' +
      'The lag in p.fca.FR may be missing. Kafka: asking failed: no leader. Ask again later.',
  )
})

test('a group that cannot be asked for is left out; only a refusal speaks of rights', async () => {
  const refused = Object.assign(new Error('Not authorized'), { type: 'GROUP_AUTHORIZATION_FAILED' })
  const groups = { desk: { 'p.all': 10 }, hidden: { 'p.all': 0 } }
  const moved = await list({ groups, fails: { hidden: new Error('moved') } })
  expect(moved.groups.map(({ group }) => group)).toEqual(['desk'])
  expect(moved.incomplete).toBe('Groups may be missing. Kafka: asking failed: moved. Ask again later.')
  expect((await list({ groups, fails: { hidden: refused } })).incomplete).toMatch(
    /the right Describe on it\.$/,
  )
})

test('damage to the log is no missing fact', async () => {
  const damaged = new BridgeError('log_damaged', 'of this test')
  await expect(list({ groups: { desk: { 'p.all': 4 } }, fails: { 'p.all': damaged } })).rejects.toBe(damaged)
})

test('a page asks for 200 groups at most, and stops at 500 topics', async () => {
  const many = Object.fromEntries(
    Array.from({ length: 1000 }, (_, at) => [`g${`${at}`.padStart(4, '0')}`, {}]),
  )
  const asked: string[] = []
  const first = await list({ groups: many, asked })
  expect(first).toEqual({ groups: [], next: 'g0199', incomplete: null })
  expect(asked).toHaveLength(MOST_EXAMINED + 1)
  const topics = Object.fromEntries(Array.from({ length: 300 }, (_, at) => [`p.fca.C${at}`, 10]))
  const wide = Object.fromEntries(Object.keys(many).map((group) => [group, topics]))
  const second = await list({ groups: wide })
  expect(second.groups).toHaveLength(2)
  expect(second.next).toBe('g0001')
})

test('a position that the topic no longer has, or never had, has no lag, and the answer says why', async () => {
  const { groups, incomplete } = await list({
    groups: { behind: { 'p.all': 2 }, there: { 'p.all': 3 }, over: { 'p.all': 99 } },
    earliest: 3,
  })
  expect(groups.map(({ group, topics }) => [group, topics[0]?.events, topics[0]?.ms])).toEqual([
    ['behind', null, null],
    ['over', null, null],
    ['there', 7, 5000],
  ])
  expect(incomplete).toContain('A position in p.all is outside')
})
