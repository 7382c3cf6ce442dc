/** Tests the list of consumer groups on a real broker: positions of real consumers, lag behind transactions, pages. */
import { afterEach, describe, expect, it } from 'vitest'
import type { ConsumerGroups } from '../../../src/log/consumers.ts'
import type { KafkaLog } from '../../../src/log-kafka/log.ts'
import { MOST_EXAMINED } from '../../../src/log-kafka/reading/consumer-groups.ts'
import { claimed } from '../../log/samples.ts'
import { until } from '../../support/http/api-server.ts'
import { createTopic, kafkaClient, uniqueName } from '../../support/kafka/clients.ts'
import { sharedBrokers } from '../../support/kafka/for-tests.ts'
import { createLogKeeper, kafkaLogOptions } from '../../support/kafka/kafka-logs.ts'
import { commitPositions } from '../../support/kafka/positions.ts'
import { eventAt } from '../../support/store.ts'

const brokers = await sharedBrokers()
const logs = createLogKeeper()
afterEach(() => logs.closeAll())

const never = new AbortController().signal

async function listed(log: KafkaLog, after: string | null = null, limit = 100): Promise<ConsumerGroups> {
  const found = await log.consumers?.({ after, limit }, never)
  if (found === undefined) throw new Error('the log lists no consumers')
  return found
}

/** Every group from that name on, over all pages: other tests leave groups on the shared broker. */
async function listedFrom(log: KafkaLog, name: string, limit = 100) {
  const groups: ConsumerGroups['groups'] = []
  let after: string | null = name
  let pages = 0
  while (after !== null) {
    const page: ConsumerGroups = await listed(log, after, limit)
    expect(page.incomplete).toBeNull()
    expect(page.groups.length).toBeLessThanOrEqual(limit)
    groups.push(...page.groups)
    after = page.next
    pages += 1
  }
  return { groups, pages }
}

describe.skipIf(brokers === null)('consumer groups', () => {
  it('are listed with their lag in events, whatever offsets transactions take, and in time', async () => {
    const options = kafkaLogOptions(brokers ?? [])
    const { prefix } = options.topics
    const log = logs.open(options)
    const writer = await claimed(log)
    // Each commit takes an offset for its marker; every tenth event is in fca.FR too.
    for (let sequence = 1; sequence <= 30; sequence += 3) {
      const events = [0, 1, 2].map((more) => ({
        ...eventAt(sequence + more),
        recordedtime: new Date(Date.now() - 60_000).toISOString(),
      }))
      await writer.commit({ events })
    }
    const all = `${prefix}.all`
    const other = `${prefix}.fca.NAV`
    const group = uniqueName('zz-reader')
    await commitPositions(brokers ?? [], {
      [group]: { [all]: 0, [other]: 0 },
      [`${group}-late`]: { [all]: 3 },
      [`${group}-done`]: { [all]: 39 },
      [`${group}-end`]: { [all]: 40 },
      [`${group}-status`]: { [`${prefix}.status`]: 0 },
      [`${prefix}.leader`]: { [all]: 0 },
    })
    const { groups } = await listedFrom(log, group.slice(0, -1))
    const own = groups.filter((one) => one.group.startsWith(group))
    expect(own.map((one) => one.group)).toEqual([group, `${group}-done`, `${group}-end`, `${group}-late`])
    const lag = (at: number, topic: string) => own[at]?.topics.find((one) => one.topic === topic)
    expect(lag(0, all)).toMatchObject({ events: 30 })
    expect(lag(0, other)).toMatchObject({ events: 27 })
    expect(lag(1, all)).toEqual({ topic: all, events: 0, ms: 0 })
    expect(lag(2, all)).toEqual({ topic: all, events: 0, ms: 0 })
    // Offset 3 is the marker of the first three events.
    expect(lag(3, all)).toMatchObject({ events: 27 })
    expect(lag(0, all)?.ms).toBeGreaterThanOrEqual(59_000)
    expect(lag(0, all)?.ms).toBeLessThan(180_000)
    expect(own[0]).toMatchObject({ state: 'empty', members: 0 })
    expect((await listedFrom(log, `${prefix}.leade`)).groups.map((one) => one.group)).not.toContain(
      `${prefix}.leader`,
    )
  })

  it('follow a real consumer: its members, its position, and that it has caught up', async () => {
    const options = kafkaLogOptions(brokers ?? [])
    const log = logs.open(options)
    const writer = await claimed(log)
    await writer.commit({ events: [eventAt(1), eventAt(2)] })
    const group = uniqueName('zz-live')
    const consumer = kafkaClient(brokers ?? []).consumer({ groupId: group, maxWaitTimeInMs: 100 })
    await consumer.connect()
    try {
      await consumer.subscribe({ topic: `${options.topics.prefix}.all`, fromBeginning: true })
      await consumer.run({ autoCommitInterval: 100, eachMessage: async () => undefined })
      const find = async () =>
        (await listedFrom(log, group.slice(0, -1))).groups.find((one) => one.group === group)
      await until(async () => (await find())?.topics[0]?.events === 0)
      expect(await find()).toMatchObject({ state: 'stable', members: 1 })
    } finally {
      await consumer.disconnect()
    }
  })

  it('come page by page, and one page asks for a bounded number of groups', async () => {
    const options = kafkaLogOptions(brokers ?? [])
    const log = logs.open(options)
    const writer = await claimed(log)
    await writer.commit({ events: [eventAt(1)] })
    const name = uniqueName('zz-many')
    const foreign = await createTopic(kafkaClient(brokers ?? []))
    const groups = Array.from(
      { length: MOST_EXAMINED + 20 },
      (_, at) => `${name}-${`${at}`.padStart(4, '0')}`,
    )
    // Of these only every fiftieth, and the last, has a position in a topic of ours.
    const isReader = (at: number): boolean => at % 50 === 0 || at === groups.length - 1
    const topicOf = (at: number): string => (isReader(at) ? `${options.topics.prefix}.all` : foreign)
    await commitPositions(
      brokers ?? [],
      Object.fromEntries(groups.map((group, at) => [group, { [topicOf(at)]: 0 }])),
    )
    const wanted = groups.filter((_, at) => isReader(at))
    const first = await listed(log, name)
    expect(first.groups.map(({ group }) => group)).toEqual(wanted.slice(0, 4))
    expect(first.next).toBe(groups[MOST_EXAMINED - 1])
    const found = await listedFrom(log, name, 2)
    expect(found.groups.map(({ group }) => group).filter((group) => group.startsWith(name))).toEqual(wanted)
    expect(found.pages).toBeGreaterThan(2)
  })
})
