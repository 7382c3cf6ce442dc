/**
 * Two bridges that share one Kafka behind a proxy while a flood comes in. Owns broker, proxy, market and processes, the
 * rest they must come to, and the durable count of units. Refuses to choose the faults, and to judge the topics:
 * `judge-topics.ts` does.
 */
import { resolve } from 'node:path'
import { expect } from 'vitest'
import { type Sandbox, startSandbox } from '../../../src/sandbox/sandbox.ts'
import { claimed } from '../../log/samples.ts'
import { eventually, getJson, pullAll } from '../api-client.ts'
import { type BridgeProcess, bridgeEnv, startBridge, temporaryDirectory } from '../bridge-process.ts'
import { compare } from '../completeness.ts'
import { type CountingFront, startCountingFront } from '../counting-front.ts'
import { heldClock } from '../held-clock.ts'
import { uniqueName } from './clients.ts'
import { type KafkaCluster, startCluster } from './cluster.ts'
import { judgeTopics, type TopicsVerdict } from './judge-topics.ts'
import { createLogKeeper, kafkaLogOptions } from './kafka-logs.ts'
import { type KafkaProxy, PROXIED, startProxies } from './proxy.ts'
import type { KafkaRuntime } from './runtime.ts'

const CHILD = resolve(import.meta.dirname, '../../integration/bridge-child.ts')
/** For the last failover, the walks that fill gaps, and a busy machine. */
const LONGEST_REST_MS = 90_000

/** Where one process lives: its data directory, kept over its deaths, and its own way to the upstream. */
export interface Place {
  readonly front: CountingFront
  /** Starts a bridge here. `crash`: where it kills itself, as `bridge-child.ts` takes it. */
  start(crash?: readonly [place: string, count: number]): Promise<BridgeProcess>
}

/** The world. Disposing of it kills what still runs. */
export interface Bridges extends AsyncDisposable {
  readonly cluster: KafkaCluster
  readonly proxy: KafkaProxy
  readonly sandbox: Sandbox
  readonly places: readonly [Place, Place]
  /** Lets the market begin. */
  begin(): void
  /** Resolves when everything that the market showed is served at `base` and no gap is open. */
  cameToRest(base: string): Promise<void>
  /** What is in the topics and in the ledger; every bridge must have ended. */
  judge(): Promise<{ topics: TopicsVerdict; unitsOver: number }>
}

/** Starts broker, proxy and market; no bridge yet. */
export async function startBridges(runtime: KafkaRuntime, seed: number): Promise<Bridges> {
  await using stack = new AsyncDisposableStack()
  const market = heldClock()
  const cluster = stack.use(await startCluster({ runtime, listeners: [PROXIED] }))
  const [proxy] = await startProxies(cluster)
  if (proxy === undefined) throw new Error('a cluster without a node')
  stack.use(proxy)
  const sandbox = await startSandbox(
    { scenario: 'flood', plan: 'advanced', weeklyQuota: 1_000_000, seed },
    { clock: market.clock },
  )
  stack.defer(() => sandbox.close())
  const prefix = uniqueName('bridges')
  const started: BridgeProcess[] = []
  const place = async (): Promise<Place> => {
    const directory = stack.use(temporaryDirectory())
    const front = stack.use(await startCountingFront(sandbox.url))
    const env = bridgeEnv({ url: front.url, key: sandbox.key }, directory.path, {
      BRIDGE_KAFKA_BROKERS: cluster.addresses(PROXIED.name).join(','),
      BRIDGE_TOPIC_PREFIX: prefix,
      BRIDGE_UPSTREAM_PLAN: 'advanced',
    })
    return {
      front,
      async start(crash) {
        const args = crash?.map(String) ?? ['run']
        const bridge = await (crash ? startBridge(env, args, CHILD) : startBridge(env, args))
        started.push(bridge)
        return bridge
      },
    }
  }
  const places = [await place(), await place()] as const
  stack.defer(async () => {
    await Promise.all(started.map((bridge) => bridge.stop('SIGKILL')))
  })
  const owned = stack.move()
  return {
    cluster,
    proxy,
    sandbox,
    places,
    begin: market.release,
    async cameToRest(base) {
      const look = async () => {
        const events = await pullAll(base)
        const { gaps } = await getJson<{ gaps: unknown[] }>(`${base}/v1/status`)
        const missing = compare(sandbox.truth().items, events).missing.length
        return { missing, gaps, finished: sandbox.finished() }
      }
      await eventually(
        look,
        ({ missing, gaps, finished }) => finished && missing === 0 && gaps.length === 0,
        LONGEST_REST_MS,
      )
    },
    async judge() {
      const logs = createLogKeeper()
      const { state } = await claimed(logs.open(kafkaLogOptions(cluster.brokers, prefix)))
      const byLedger = [...state.ledger.values()].flatMap((hour) => Object.values(hour))
      await logs.closeAll()
      return {
        topics: await judgeTopics(cluster.brokers, prefix, sandbox.truth().items),
        unitsOver: byLedger.reduce((sum, units) => sum + units, 0) - sandbox.usage().units,
      }
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

/** The whole promise: truth once, in every topic, without a hole; and no unit that was not written down before. */
export async function expectWhole(world: Bridges): Promise<void> {
  const { topics, unitsOver } = await world.judge()
  const { items } = world.sandbox.truth()
  expect(topics).toEqual({
    missing: [],
    twice: [],
    invented: [],
    holes: [],
    topicHoles: [],
    wrongTopics: [],
    published: items.length,
    openGaps: 0,
  })
  expect(unitsOver).toBeGreaterThanOrEqual(0)
  const { throttled, quotaRefused, violations } = world.sandbox.usage()
  expect({ throttled, quotaRefused, violations }).toEqual({ throttled: 0, quotaRefused: 0, violations: 0 })
}
