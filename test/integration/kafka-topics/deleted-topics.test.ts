/** Tests topics of the start that are deleted while a bridge leads: which a claim makes again, and which stay a loud loss. */
import { afterEach, describe, expect, it } from 'vitest'
import { groupElections } from '../../../src/log-kafka/group/leader.ts'
import { inspectKafka } from '../../../src/log-kafka/inspect.ts'
import { claimed, sampleOfCode } from '../../log/samples.ts'
import { eventually } from '../../support/http/api-client.ts'
import { kafkaClient, withAdmin } from '../../support/kafka/clients.ts'
import { sharedBrokers } from '../../support/kafka/for-tests.ts'
import { createLogKeeper, kafkaLogOptions } from '../../support/kafka/kafka-logs.ts'
import { readTopic } from '../../support/kafka/read-topic.ts'
import { removeTopics } from '../../support/kafka/remove-topics.ts'
import { keepingLogger } from '../../support/keeping-logger.ts'

const brokers = (await sharedBrokers()) ?? []
const logs = createLogKeeper()
afterEach(() => logs.closeAll())

describe.skipIf(brokers.length === 0)('a topic of the start that is deleted', () => {
  const kafka = kafkaClient(brokers)
  const present = () => withAdmin(kafka, (admin) => admin.listTopics())

  /** A log with one event, without these topics; its writer is the one from before. */
  async function without(...deleted: string[]) {
    const { logger, lines } = keepingLogger()
    const options = { ...kafkaLogOptions(brokers), knownCodes: { fca: ['BOA'], native: [] }, logger }
    const { prefix } = options.topics
    const log = logs.open(options)
    const writer = await claimed(log)
    await writer.commit({ events: [bought(1)] })
    await removeTopics(
      options,
      deleted.map((topic) => `${prefix}.${topic}`),
    )
    const remade = () => lines.filter(({ event }) => event === 'topic.created_again')
    return { options, prefix, log, writer, remade }
  }

  const bought = (n: number) => sampleOfCode(n, 'BOA')

  it('is named by the write that fails, and made again by the claim after it, with the settings of the start', async () => {
    const { options, log, prefix, writer, remade } = await without('fca.BOA')
    const topic = `${prefix}.fca.BOA`
    await expect(writer.commit({ events: [bought(2)] })).rejects.toMatchObject({
      message: expect.stringContaining(`the topic ${topic} does not exist`),
    })
    const startMs = Date.now()
    await (await claimed(log)).commit({ events: [bought(2)] })
    expect(Date.now() - startMs).toBeLessThan(5_000)
    const [record] = await readTopic(kafka, topic, 1)
    expect(record?.headers.ce_topicsequence).toBe('2')
    expect(remade()).toEqual([{ level: 'warn', event: 'topic.created_again', fields: { topic } }])
    const { others } = await inspectKafka({ ...options, polls: true }, AbortSignal.timeout(20_000))
    expect(others).toEqual([])
  })

  it('is made again too where it holds gaps, rejected items, the status or requests', async () => {
    const topics = ['gaps', 'rejected', 'status', 'native._other', 'internal.questions', 'internal.answers']
    const { log, prefix, remade } = await without(...topics)
    await claimed(log)
    const names = topics.map((topic) => `${prefix}.${topic}`)
    // The claim does not wait for those that no commit needs.
    const told = () => remade().map(({ fields }) => fields.topic)
    await eventually(told, (found) => names.every((name) => found.includes(name)))
    expect(await present()).toEqual(expect.arrayContaining(names))
  })

  it('is made again by the leader that serves requests, as an order to step down comes over one of them', async () => {
    const topics = ['status', 'internal.leader', 'internal.questions', 'internal.answers']
    const { log, prefix, remade } = await without(...topics)
    const serving = new AbortController()
    const served = log.requests.serve(async (request) => request, serving.signal)
    const names = topics.map((topic) => `${prefix}.${topic}`)
    const told = () => remade().map(({ fields }) => fields.topic)
    await eventually(told, (found) => names.every((name) => found.includes(name)))
    expect(await log.requests.send('hello', AbortSignal.timeout(10_000))).toBe('hello')
    serving.abort()
    await served
  }, 60_000)

  it('is made again by the append that fails, where it holds a journal', async () => {
    const { options, prefix, log, remade } = await without()
    const journal = log.journal<string>('notes', 3_600_000)
    await journal.append(['first'])
    const topic = `${prefix}.internal.journal.notes`
    await removeTopics(options, [topic])
    await expect(journal.append(['lost'])).rejects.toMatchObject({ code: 'log_unavailable' })
    await eventually(remade, (found) => found.length > 0)
    expect(remade()).toEqual([{ level: 'warn', event: 'topic.created_again', fields: { topic } }])
    await journal.append(['second'])
  }, 60_000)

  it('stops no claim where a broker has made it again with several partitions', async () => {
    const topics = ['status', 'gaps', 'native._other']
    const { log, prefix, remade } = await without(...topics)
    const several = topics.map((topic) => ({ topic: `${prefix}.${topic}`, numPartitions: 3 }))
    await withAdmin(kafka, (admin) => admin.createTopics({ topics: several, waitForLeaders: false }))
    await (await claimed(log)).commit({ events: [bought(2)] })
    expect(remade()).toEqual([])
  })

  it('is made again by a candidate where it is the topic of the election', async () => {
    const { logger, lines } = keepingLogger()
    const options = { ...kafkaLogOptions(brokers), openElections: groupElections, logger }
    const log = logs.open(options)
    const signal = AbortSignal.timeout(20_000)
    const term = await log.campaign(signal)
    await term.end()
    const topic = `${options.topics.prefix}.internal.leader`
    await removeTopics(options, [topic])
    await log.claim(await log.campaign(signal), signal)
    expect(lines).toContainEqual({ level: 'warn', event: 'topic.created_again', fields: { topic } })
  })

  it('is not made again where it holds all events or tables, and the claim names the missing one', async () => {
    const { options, log, prefix, remade } = await without('all', 'internal.tables')
    await expect(claimed(log)).rejects.toMatchObject({
      code: 'log_unavailable',
      message: `Kafka: the topic ${prefix}.all does not exist`,
      hint: expect.stringContaining('bridge doctor'),
    })
    expect(await present()).not.toContain(`${prefix}.all`)
    expect(await present()).not.toContain(`${prefix}.internal.tables`)
    expect(remade()).toEqual([])
    const { lostEvents } = await inspectKafka({ ...options, polls: true }, AbortSignal.timeout(20_000))
    expect(lostEvents).toBe(`${prefix}.all`)
  })

  it('is not called lost where the log was never used', async () => {
    const options = kafkaLogOptions(brokers)
    await logs.open(options).end(AbortSignal.timeout(20_000))
    await removeTopics(options, [`${options.topics.prefix}.all`])
    const { lostEvents } = await inspectKafka({ ...options, polls: true }, AbortSignal.timeout(20_000))
    expect(lostEvents).toBeNull()
  })
})
