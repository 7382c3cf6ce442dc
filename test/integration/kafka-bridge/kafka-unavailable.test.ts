/**
 * Tests a bridge whose Kafka is unavailable at the start or fails under the leader: it waits, logs it and recovers by
 * itself.
 */
import { describe, expect, it } from 'vitest'
import { systemClock } from '../../../src/lifecycle/clock.ts'
import { type KafkaSession, kafkaSessions } from '../../../src/log-kafka/client/client.ts'
import { groupElections } from '../../../src/log-kafka/group/leader.ts'
import { startSandbox } from '../../../src/sandbox/sandbox.ts'
import { claimed, sampleEvents } from '../../log/samples.ts'
import { bridgeEnv, startBridge, temporaryDirectory } from '../../support/bridge-process.ts'
import { eventually, getJson, pullAll } from '../../support/http/api-client.ts'
import { createTopic, kafkaClient, uniqueName } from '../../support/kafka/clients.ts'
import { kafkaRuntime } from '../../support/kafka/for-tests.ts'
import { kafkaLogOptions } from '../../support/kafka/kafka-logs.ts'
import { apiKeys } from '../../support/kafka/proxy/frames.ts'
import { useProxiedCluster } from '../../support/kafka/proxy/proxied-cluster.ts'
import { keepingLogger } from '../../support/keeping-logger.ts'

const runtime = await kafkaRuntime()
const SESSION_MS = 6_000
const LAG = /^bridge_follower_lag_seconds (.*)$/m
const NO_UPSTREAM = { url: 'http://127.0.0.1:9/v2', key: 'none' }

describe.skipIf(runtime === null)('while Kafka is unavailable', () => {
  const kafka = useProxiedCluster(runtime)

  it('a bridge that starts opens its listeners, is not ready, logs that once, and continues when Kafka recovers', async () => {
    using directory = temporaryDirectory()
    const sandbox = await startSandbox(
      { scenario: 'flood', plan: 'advanced', weeklyQuota: 1_000_000, seed: 5 },
      { clock: systemClock },
    )
    try {
      const refusal = kafka.proxy.refuse()
      const bridge = await startBridge(
        bridgeEnv(sandbox, directory.path, {
          BRIDGE_KAFKA_BROKERS: kafka.behindProxy.join(','),
          BRIDGE_UPSTREAM_PLAN: 'advanced',
        }),
      )
      const lines = (event: string): number => bridge.stderr().split(`"event":"${event}"`).length - 1
      await eventually(
        () => lines('log.unavailable'),
        (count) => count > 0,
      )
      await refusal.caught()
      const response = await fetch(`${bridge.ready.ops}/readyz`)
      expect([response.status, await response.json()]).toEqual([
        503,
        {
          ready: false,
          checks: { log: false, copy: 0, tokens: false, endpoints: false, webhooks: true, running: true },
        },
      ])
      expect(sandbox.usage().requests).toBe(0)
      refusal.lift()
      await eventually(
        () => pullAll(bridge.ready.http),
        (events) => events.length > 0,
      )
      expect((await fetch(`${bridge.ready.ops}/readyz`)).status).toBe(200)
      expect([lines('log.unavailable'), lines('log.available')]).toEqual([1, 1])
      expect(await bridge.stop()).toBe(0)
    } finally {
      await sandbox.close()
    }
  })

  it('a node that is cut off serves its replica and the last word of the leader, but is not ready, and its lag grows until Kafka recovers', async () => {
    using directory = temporaryDirectory()
    const options = kafkaLogOptions(kafka.cluster.brokers)
    const log = kafka.logs.open(options)
    const writer = await claimed(log)
    await writer.commit({ events: sampleEvents(1, 3) })
    const [said, saidLater] = ['2026-06-01T01:00:00.000Z', '2026-06-01T01:00:15.000Z']
    await log.publishStatus?.({ type: 'heartbeat', asOf: said })
    const bridge = await startBridge(
      bridgeEnv(NO_UPSTREAM, directory.path, {
        BRIDGE_ROLES: 'api,feed',
        BRIDGE_KAFKA_BROKERS: kafka.behindProxy.join(','),
        BRIDGE_TOPIC_PREFIX: options.topics.prefix,
      }),
    )
    const { http, ops } = bridge.ready
    const readiness = async () => (await fetch(`${ops}/readyz`)).json() as Promise<{ ready: boolean }>
    const lag = async () => Number(LAG.exec(await (await fetch(`${ops}/metrics`)).text())?.[1])
    const asOf = async () => (await getJson<{ asOf: string | null }>(`${http}/v1/status`)).asOf
    await eventually(readiness, ({ ready }) => ready)
    expect(await lag()).toBe(0)
    await eventually(asOf, (time) => time === said)
    const hole = kafka.proxy.blackHole()
    await writer.commit({ events: sampleEvents(4, 5) })
    await log.publishStatus?.({ type: 'heartbeat', asOf: saidLater })
    const away = await eventually(readiness, ({ ready }) => !ready)
    expect(away).toEqual({
      ready: false,
      checks: { log: false, copy: true, tokens: true, endpoints: true, running: true },
    })
    expect(await lag()).toBeGreaterThanOrEqual(10)
    expect(
      (await getJson<{ copy: { lagSeconds: number } }>(`${http}/v1/status`)).copy.lagSeconds,
    ).toBeGreaterThan(10)
    expect(await pullAll(http)).toHaveLength(3)
    expect(await asOf()).toBe(said)
    hole.lift()
    await eventually(readiness, ({ ready }) => ready)
    await eventually(asOf, (time) => time === saidLater)
    expect(await pullAll(http)).toHaveLength(5)
    expect(await lag()).toBe(0)
    expect(await bridge.stop()).toBe(0)
  })

  it('a member that its group removed and whose rejoin fails starts anew, and leaves nothing running', async () => {
    const { logger, lines } = keepingLogger()
    const brokers = kafka.behindProxy
    const openSession = kafkaSessions({ brokers, clientId: 'forgotten', tls: null, sasl: null }, logger)
    /** The fetches that each consumer has started. */
    const looks: number[] = []
    const watched = (): KafkaSession => {
      const session = openSession()
      const consumer = session.kafka.consumer.bind(session.kafka)
      session.kafka.consumer = (options) => {
        const made = consumer(options)
        const place = looks.push(0) - 1
        made.on(made.events.FETCH_START, () => {
          looks[place] = (looks[place] ?? 0) + 1
        })
        return made
      }
      return session
    }
    const groupId = uniqueName('forgotten')
    const elections = groupElections({
      openSession: watched,
      clock: systemClock,
      logger,
      groupId,
      topic: await createTopic(kafkaClient(kafka.cluster.brokers)),
    })
    const other = openSession()
    try {
      const { signal } = new AbortController()
      const { lost } = await elections.campaign(signal)
      const memberId = lines.find(({ event }) => event === 'leader.elected')?.fields.name
      const joining = kafka.proxy.hold(apiKeys.joinGroup)
      await other.partitions.leaveGroup(groupId, String(memberId))
      await joining.caught()
      joining.lift()
      kafka.proxy.cut()
      await eventually(
        () => lost.aborted,
        (isLost) => isLost,
      )
      expect((await elections.campaign(signal)).lost.aborted).toBe(false)
      const before = [...looks]
      expect(before.length).toBeGreaterThan(1)
      await eventually(
        () => looks.at(-1) ?? 0,
        (count) => count > (before.at(-1) ?? 0) + 5,
      )
      expect(looks.slice(0, -1)).toEqual(before.slice(0, -1))
    } finally {
      other.end()
      await elections.close()
    }
  })

  it('a leader cut off from its group ends its term by itself, and leads again afterwards', async () => {
    const { logger, lines } = keepingLogger()
    const brokers = kafka.behindProxy
    const connection = { brokers, clientId: 'away', tls: null, sasl: null }
    const elections = groupElections({
      openSession: kafkaSessions(connection, logger),
      clock: systemClock,
      logger,
      groupId: uniqueName('away'),
      topic: await createTopic(kafkaClient(kafka.cluster.brokers)),
    })
    try {
      const { signal } = new AbortController()
      const { lost } = await elections.campaign(signal)
      const hole = kafka.proxy.blackHole()
      const awayMs = performance.now()
      await new Promise<void>((resolve) => lost.addEventListener('abort', () => resolve()))
      expect(performance.now() - awayMs).toBeLessThan(SESSION_MS + 1_000)
      expect(elections.stillHolds()).toBe(false)
      hole.lift()
      expect((await elections.campaign(signal)).lost.aborted).toBe(false)
      expect(lines.filter(({ event }) => event === 'leader.elected')).toHaveLength(2)
    } finally {
      await elections.close()
    }
  })
  it('a leader whose broker was killed and restarted leads again at once, not after a session timeout', async () => {
    const { logger, lines } = keepingLogger()
    const elections = groupElections({
      openSession: kafkaSessions(
        { brokers: kafka.cluster.brokers, clientId: 'killed', tls: null, sasl: null },
        logger,
      ),
      clock: systemClock,
      logger,
      groupId: uniqueName('killed'),
      topic: await createTopic(kafkaClient(kafka.cluster.brokers)),
    })
    const [node] = kafka.cluster.nodes
    try {
      const { signal } = new AbortController()
      const { lost } = await elections.campaign(signal)
      await node?.kill()
      // It has released its partition, so it returns as another member.
      await eventually(
        () => lines.some(({ event }) => event === 'leader.group_unavailable') && lost.aborted,
        (away) => away,
      )
      await node?.start()
      const backMs = performance.now()
      expect((await elections.campaign(signal)).lost.aborted).toBe(false)
      expect(performance.now() - backMs).toBeLessThan(SESSION_MS)
    } finally {
      await elections.close()
    }
  })
})
