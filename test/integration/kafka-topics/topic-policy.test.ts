/** Tests the start on a cluster with a policy for new topics, and one that allows unclean elections of leaders. */

import { join } from 'node:path'
import kafkajs from 'kafkajs'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { rejectedHash } from '../../../src/log/events.ts'
import { inspectKafka } from '../../../src/log-kafka/inspect.ts'
import { claimed, sampleRejected } from '../../log/samples.ts'
import { temporaryDirectory } from '../../support/bridge-process.ts'
import { root } from '../../support/house/repository.ts'
import { kafkaClient, uniqueName } from '../../support/kafka/clients.ts'
import { type KafkaCluster, startCluster } from '../../support/kafka/cluster.ts'
import { kafkaRuntime } from '../../support/kafka/for-tests.ts'
import { createLogKeeper, kafkaLogOptions } from '../../support/kafka/kafka-logs.ts'
import { keepingLogger } from '../../support/keeping-logger.ts'
import { newestRejected } from '../../support/newest-rejected.ts'
import { compileJava, hasTool } from '../../support/tools.ts'

const MIB = 1024 * 1024
const POLICY = 'BoundedTopics'
const runtime = await kafkaRuntime()
// A Docker engine's image has no jars to compile against.
const jars = hasTool('javac', 'default-jdk-headless') ? (runtime?.jars ?? null) : null
const logs = createLogKeeper()
afterEach(() => logs.closeAll())

describe.skipIf(runtime === null || jars === null)('a cluster with a policy for new topics', () => {
  const directory = temporaryDirectory()
  let cluster: KafkaCluster

  beforeAll(async () => {
    if (runtime === null || jars === null) return
    const classes = join(directory.path, 'classes')
    await compileJava([join(root, `test/support/kafka/${POLICY}.java`)], classes, jars)
    const properties = {
      'create.topic.policy.class.name': POLICY,
      'unclean.leader.election.enable': 'true',
    }
    cluster = await startCluster({ runtime, classes, properties })
  })
  afterAll(async () => {
    await cluster?.stop()
    directory[Symbol.dispose]()
  })

  /** Settings of that topic as the cluster has them. */
  async function settingsOf(name: string, ...configNames: string[]): Promise<Record<string, string>> {
    const admin = kafkaClient(cluster.brokers).admin()
    await admin.connect()
    const { TOPIC: type } = kafkajs.ConfigResourceTypes
    const { resources } = await admin.describeConfigs({
      includeSynonyms: false,
      resources: [{ type, name, configNames }],
    })
    await admin.disconnect()
    const entries = resources[0]?.configEntries ?? []
    return Object.fromEntries(entries.map(({ configName, configValue }) => [configName, configValue]))
  }

  it('gets every topic, without the settings that it refuses, and a warning names them', async () => {
    const { logger, lines } = keepingLogger()
    const options = { ...kafkaLogOptions(cluster.brokers), logger }
    const { prefix } = options.topics
    const before = await inspectKafka({ ...options, polls: true }, AbortSignal.timeout(20_000))
    expect(before.refusedSettings).toContainEqual({
      topic: `${prefix}.rejected`,
      settings: ['max.message.bytes'],
      why: 'max.message.bytes must be 10000000 or less',
    })
    expect(before.refusedSettings.map(({ topic }) => topic)).toContain(`${prefix}.internal.state`)
    expect(before.refusedSettings.map(({ topic }) => topic)).not.toContain(`${prefix}.all`)
    await claimed(logs.open(options))
    const warnings = lines.filter(({ event }) => event === 'topic.settings_refused')
    expect(warnings.map(({ level, fields: { topic, settings } }) => [level, topic, settings])).toEqual([
      ['warn', `${prefix}.rejected`, 'max.message.bytes'],
      ['warn', `${prefix}.internal.state`, 'segment.bytes'],
    ])
    expect(warnings[1]?.fields.reason).toBe('segment.bytes must be 67108864 or more')
    const state = ['cleanup.policy', 'segment.ms', 'min.cleanable.dirty.ratio', 'segment.bytes']
    expect(await settingsOf(`${prefix}.internal.state`, ...state)).toEqual({
      'cleanup.policy': 'compact',
      'segment.ms': '3600000',
      'min.cleanable.dirty.ratio': '0.1',
      'segment.bytes': String(1024 * MIB),
    })
    const limit = await settingsOf(`${prefix}.rejected`, 'max.message.bytes')
    expect(limit).toEqual({ 'max.message.bytes': String((65 * MIB) / 8) })
  })

  it('whose other topics allow unclean elections gets topics that forbid them, and the doctor reports those that do not', async () => {
    const options = kafkaLogOptions(cluster.brokers)
    const { prefix } = options.topics
    const admin = kafkaClient(cluster.brokers).admin()
    await admin.connect()
    const gaps = { topic: `${prefix}.gaps`, numPartitions: 1, replicationFactor: 1 }
    await admin.createTopics({ topics: [gaps], waitForLeaders: false })
    await admin.disconnect()
    await claimed(logs.open(options))
    const name = 'unclean.leader.election.enable'
    expect(await settingsOf(`${prefix}.all`, name)).toEqual({ [name]: 'false' })
    const { others } = await inspectKafka({ ...options, polls: true }, AbortSignal.timeout(20_000))
    expect(others.filter((one) => one.name === name)).toEqual([
      { topic: `${prefix}.gaps`, name, found: 'true', expected: 'false' },
    ])
  })

  it('ends the start where it refuses the topics themselves, with its own sentence', async () => {
    const log = logs.open(kafkaLogOptions(cluster.brokers, uniqueName('forbidden')))
    await expect(claimed(log)).rejects.toMatchObject({
      code: 'kafka',
      message: expect.stringMatching(
        /^the cluster refuses to create forbidden-.*: no topic may be called so$/,
      ),
      hint: expect.stringContaining('policy'),
    })
  })

  it('keeps the beginning of a rejected item that its topic does not take, and recognises all of it', async () => {
    const options = kafkaLogOptions(cluster.brokers)
    const log = logs.open(options)
    const huge = { ...sampleRejected(1), raw: 'z'.repeat(9 * MIB) }
    const commit = { events: [], rejected: [sampleRejected(0), huge] }
    await expect((await claimed(log)).commit(commit)).rejects.toMatchObject({ code: 'log_unknown' })
    await (await claimed(log)).commit(commit)
    const [small, cut] = await newestRejected(log, 9)
    expect(small).toEqual(sampleRejected(0))
    expect(cut?.raw).toBe('z'.repeat(1_000_000))
    expect(cut?.reason).toContain('only its first 1000000 of 9437184 bytes are kept')
    expect(await log.rejectedHashes(9)).toEqual([sampleRejected(0), huge].map(({ raw }) => rejectedHash(raw)))
  })
})
