/**
 * Compares what an independent reader finds in the topics (plain kafkajs, `read_committed`) with the sandbox's truth.
 */
import { contentHash } from '../../../src/core/disclosure.ts'
import type { TruthItem } from '../worlds/completeness.ts'
import { kafkaClient, uniqueName } from './clients.ts'

/** The errors in the topics of one prefix; every list is empty if there are none. */
export interface TopicsVerdict {
  /** Required revisions that are missing in `all`. */
  missing: string[]
  /** Duplicate records of `all`. */
  twice: string[]
  /** Records of `all` that the market never showed. */
  invented: string[]
  /** Records of `all` whose `ce_sequence` does not follow, or of another epoch. */
  holes: string[]
  /** Records whose `ce_topicsequence` does not follow, as `topic id`. */
  topicHoles: string[]
  /** Topics that do not match the categories of the records in `all`. */
  wrongTopics: string[]
  /** Disclosures in `all`. */
  published: number
  /** Gaps that were opened and not filled. */
  openGaps: number
}

interface Read {
  id: string
  type: string
  value: string
  headers: Record<string, string>
}

/** Key of the record that marks the end of reading; the check writes it when every bridge has ended. */
const END = 'the-end-of-the-test'

/**
 * Reads every topic of the prefix that holds events and judges them. Every bridge must have ended. A transaction that
 * was left open makes it wait, as every reader would. `owed`: what must be there; `shown`: all that may be.
 */
export async function judgeTopics(
  brokers: readonly string[],
  prefix: string,
  truth: { owed: readonly TruthItem[]; shown: readonly TruthItem[] },
): Promise<TopicsVerdict> {
  const topics = await readToEnd(brokers, prefix)
  const all = topics.get('all') ?? []
  const disclosures = all.filter(({ type }) => !type.startsWith('bridge.'))
  const keys = disclosures.map(({ value }) => {
    const data = JSON.parse(value) as { guid: string }
    return `${data.guid} ${contentHash(data)}`
  })
  const held = new Set(keys)
  const owed = keysOf(truth.owed)
  const shown = keysOf(truth.shown)
  const expected = expectedTopics(all)
  const named = new Set([...expected.keys(), ...topics.keys()])
  const count = (type: string): number => all.filter((record) => record.type === type).length
  return {
    missing: [...owed].filter((key) => !held.has(key)),
    twice: keys.filter((key, index) => keys.indexOf(key) !== index),
    invented: keys.filter((key) => !shown.has(key)),
    holes: all
      .filter(
        ({ headers }, index) =>
          Number(headers.ce_sequence) !== index + 1 || headers.ce_epoch !== all[0]?.headers.ce_epoch,
      )
      .map(({ id }) => id),
    topicHoles: [...topics].flatMap(([topic, records]) =>
      records
        .filter(({ headers }, index) => Number(headers.ce_topicsequence) !== index + 1)
        .map(({ id }) => `${topic} ${id}`),
    ),
    wrongTopics: [...named].filter(
      (topic) =>
        topic !== 'all' &&
        (topics.get(topic) ?? []).map(({ id }) => id).join() !== (expected.get(topic) ?? []).join(),
    ),
    published: disclosures.length,
    openGaps: count('bridge.gap.opened.v1') - count('bridge.gap.filled.v1'),
  }
}

function keysOf(items: readonly TruthItem[]): Set<string> {
  return new Set(items.map((item) => `${item.guid} ${item.contentHash}`))
}

/** The ids that each topic must hold, in order, by contract §4. The scenarios have none but known codes. */
function expectedTopics(all: readonly Read[]): Map<string, string[]> {
  const expected = new Map<string, string[]>()
  for (const { id, type, value } of all) {
    const { category = [] } = JSON.parse(value) as { category?: { kind: string; code: string }[] }
    const topics = type.startsWith('bridge.')
      ? ['gaps']
      : category.map(({ kind, code }) => `${kind.toLowerCase()}.${code}`)
    for (const topic of new Set(topics)) expected.set(topic, [...(expected.get(topic) ?? []), id])
  }
  return expected
}

/** The records of every topic of events, by the part of its name after the prefix. */
async function readToEnd(brokers: readonly string[], prefix: string): Promise<Map<string, Read[]>> {
  const kafka = kafkaClient(brokers)
  const admin = kafka.admin()
  await admin.connect()
  const topics = (await admin.listTopics()).filter(
    (topic) => topic === `${prefix}.all` || new RegExp(`^${prefix}\\.(gaps$|fca\\.|native\\.)`).test(topic),
  )
  await admin.disconnect()
  const producer = kafka.producer()
  await producer.connect()
  await producer.sendBatch({
    topicMessages: topics.map((topic) => ({ topic, messages: [{ key: END, value: '{}' }] })),
  })
  await producer.disconnect()
  const consumer = kafka.consumer({ groupId: uniqueName('judge'), maxWaitTimeInMs: 50 })
  await consumer.connect()
  try {
    await consumer.subscribe({ topics, fromBeginning: true })
    // By offset: a reader whose group is disturbed reads again.
    const records = new Map(topics.map((topic) => [topic, new Map<string, Read>()]))
    const unread = new Set(topics)
    await new Promise<void>((resolve, reject) => {
      consumer.on('consumer.crash', ({ payload }) => !payload.restart && reject(payload.error))
      const eachMessage: EachMessage = async ({ topic, message }) => {
        if (String(message.key) === END) unread.delete(topic)
        else records.get(topic)?.set(message.offset, readOf(message))
        if (unread.size === 0) resolve()
      }
      consumer.run({ eachMessage }).catch(reject)
    })
    return new Map([...records].map(([topic, read]) => [topic.slice(prefix.length + 1), [...read.values()]]))
  } finally {
    await consumer.disconnect()
  }
}

type Message = {
  offset: string
  key: Buffer | null
  value: Buffer | null
  headers?: Record<string, unknown>
}
type EachMessage = (payload: { topic: string; message: Message }) => Promise<void>

function readOf({ value, headers = {} }: Message): Read {
  const texts = Object.fromEntries(Object.entries(headers).map(([name, text]) => [name, String(text)]))
  return { id: texts.ce_id ?? '', type: texts.ce_type ?? '', value: String(value), headers: texts }
}
