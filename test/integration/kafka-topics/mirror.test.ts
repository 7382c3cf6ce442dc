/**
 * Tests that a mirror takes over after MirrorMaker, both bridges and the cluster were killed while events were committed:
 * what the mirror lacks is announced, fetched again, and missing for no reader.
 */
import { describe, expect, it } from 'vitest'
import { contentHash } from '../../../src/core/disclosure.ts'
import { GAP_OPENED } from '../../../src/core/event.ts'
import { BridgeError } from '../../../src/errors.ts'
import { systemClock } from '../../../src/lifecycle/clock.ts'
import { compareTopics } from '../../../src/log-kafka/repair.ts'
import { startSandbox } from '../../../src/sandbox/sandbox.ts'
import {
  type BridgeProcess,
  bridgeEnv,
  runToEnd,
  startBridge,
  temporaryDirectory,
} from '../../support/bridge-process.ts'
import { type ApiEvent, eventually, getJson, pullAll } from '../../support/http/api-client.ts'
import { startBurst } from '../../support/kafka/chaos/burst.ts'
import { endOf, kafkaClient, uniqueName } from '../../support/kafka/clients.ts'
import { type KafkaCluster, startCluster } from '../../support/kafka/cluster.ts'
import { kafkaRuntime } from '../../support/kafka/for-tests.ts'
import { kafkaLogOptions } from '../../support/kafka/kafka-logs.ts'
import { startMirror } from '../../support/kafka/mirror-maker.ts'
import { askEndpoints, LOCAL_RECEIVERS } from '../../support/webhooks/endpoint-api.ts'
import { startReceiver } from '../../support/webhooks/webhook-receiver.ts'
import { compare, type TruthItem } from '../../support/worlds/completeness.ts'

const runtime = await kafkaRuntime()

/** MirrorMaker starts, joins its group and creates topics. */
const MIRRORING_MS = 180_000
/** Events by which one topic is ahead of the other on the mirror. */
const APART = 10

/** A market with its bridge, whose log is one prefix of the source. */
interface Market extends AsyncDisposable {
  prefix: string
  truth(): readonly TruthItem[]
  /** Stops publishing. */
  end(): Promise<void>
  /** The bridge on that cluster; each has a data directory of its own. */
  start(cluster: KafkaCluster): Promise<BridgeProcess>
  run(command: string[], cluster: KafkaCluster): ReturnType<typeof runToEnd>
  /** Requests to the receiver of the only endpoint. */
  delivered: readonly { body: string }[]
  receiverUrl: string
}

async function startMarket(seed: number): Promise<Market> {
  await using stack = new AsyncDisposableStack()
  const prefix = uniqueName('mirrored')
  const sandbox = await startSandbox(
    { scenario: 'quiet', plan: 'advanced', weeklyQuota: 1_000_000, seed },
    { clock: systemClock },
  )
  stack.defer(() => sandbox.close())
  const receiver = stack.use(await startReceiver())
  const burst = startBurst(sandbox, seed)
  stack.defer(() => burst.end())
  const directories = stack.use(new DisposableStack())
  const envOn = (cluster: KafkaCluster): Record<string, string> =>
    bridgeEnv(sandbox, directories.use(temporaryDirectory()).path, {
      BRIDGE_KAFKA_BROKERS: cluster.brokers.join(','),
      BRIDGE_TOPIC_PREFIX: prefix,
      BRIDGE_UPSTREAM_PLAN: 'advanced',
      ...LOCAL_RECEIVERS,
    })
  const started = stack.use(new AsyncDisposableStack())
  const owned = stack.move()
  return {
    prefix,
    truth: () => sandbox.truth().items,
    end: () => burst.end(),
    async start(cluster) {
      const bridge = await startBridge(envOn(cluster))
      started.defer(async () => void (await bridge.stop('SIGKILL')))
      return bridge
    },
    run: (command, cluster) => runToEnd(command, envOn(cluster)),
    delivered: receiver.received,
    receiverUrl: receiver.url,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

/** A market that publishes through the source to one webhook. */
async function startOnSource(market: Market, source: KafkaCluster) {
  const bridge = await market.start(source)
  const { http } = bridge.ready
  await eventually(
    () => pullAll(http),
    ({ length }) => length > 0,
  )
  const endpoint = await askEndpoints(http, 'POST', '', { url: market.receiverUrl, since: '2000-01-01' })
  return { market, bridge, endpoint }
}

/** Where state and events of a prefix end on that cluster; 0 while topics or their first records are missing there. */
async function endsOn(cluster: KafkaCluster, { prefix }: Market): Promise<{ state: number; last: number }> {
  const options = kafkaLogOptions(cluster.brokers, prefix)
  const found = await compareTopics(options, AbortSignal.timeout(20_000)).catch((error: unknown) => {
    if (error instanceof BridgeError) return null
    throw error
  })
  return { state: found?.state?.sequence ?? 0, last: found?.last ?? 0 }
}

/** Where the tables of a prefix, endpoints among them, end on that cluster. */
const tablesEnd = (cluster: KafkaCluster, { prefix }: Market): Promise<number> =>
  endOf(kafkaClient(cluster.brokers), `${prefix}.internal.tables`)

describe.skipIf(runtime === null)('a mirror by MirrorMaker takes over', () => {
  it('and nothing is missing for readers, wherever the copies of events and state ended', async () => {
    if (runtime === null) throw new Error('skipped without Kafka')
    await using stack = new AsyncDisposableStack()
    const [source, mirror] = await Promise.all([startCluster({ runtime }), startCluster({ runtime })])
    stack.use(source)
    stack.use(mirror)
    const [ofLost, ofUnknown] = [
      await startOnSource(stack.use(await startMarket(31)), source),
      await startOnSource(stack.use(await startMarket(32)), source),
    ]
    // One MirrorMaker dies first: the mirror lacks events of one log, and newer state of the other.
    const [lost, unknown] = [ofLost.market, ofUnknown.market]
    const copy = async (name: string, topics: readonly string[]) =>
      stack.use(await startMirror({ runtime, from: source.brokers, to: mirror.brokers, name, topics }))
    const tables = (prefix: string) => [`${prefix}\\.internal\\.tables`, `${prefix}\\.internal\\.lanes\\..*`]
    const markets = [lost, unknown]
    const written = await Promise.all(markets.map((market) => tablesEnd(source, market)))
    const stateOf = (prefix: string) => `${prefix}\\.internal\\.state`
    const [first, second] = await Promise.all([
      copy('first', [`${lost.prefix}\\.all`, stateOf(unknown.prefix)]),
      copy('second', [
        ...[`${unknown.prefix}\\.all`, stateOf(lost.prefix)],
        ...[...tables(lost.prefix), ...tables(unknown.prefix)],
      ]),
    ])
    const ends = () => Promise.all([endsOn(mirror, lost), endsOn(mirror, unknown)])
    await eventually(ends, (all) => all.every(({ state, last }) => state > 0 && last > 0), MIRRORING_MS)
    await eventually(
      () => Promise.all(markets.map((market) => tablesEnd(mirror, market))),
      (copied) => copied.every((end, index) => end >= (written[index] ?? 0)),
      MIRRORING_MS,
    )
    await first.kill()
    await eventually(
      ends,
      ([ofOne, ofOther]) => ofOne.state >= ofOne.last + APART && ofOther.last >= ofOther.state + APART,
    )
    const read = await Promise.all([ofLost, ofUnknown].map(({ bridge }) => pullAll(bridge.ready.http)))
    await Promise.all([
      second.kill(),
      ...source.nodes.map((node) => node.kill()),
      ...[ofLost, ofUnknown].map(({ bridge }) => bridge.stop('SIGKILL')),
    ])
    const [endOfLost, endOfUnknown] = await ends()
    const expected = [
      { lost: endOfLost.state - endOfLost.last, unknown: 0 },
      { lost: 0, unknown: endOfUnknown.last - endOfUnknown.state },
    ]

    const takeOver = async (index: number, { market, endpoint }: typeof ofLost): Promise<void> => {
      const repaired = await market.run(['repair', '--yes', '--json'], mirror)
      expect([repaired.code, repaired.stderr]).toEqual([0, expect.stringContaining('names event')])
      expect(JSON.parse(repaired.stdout)).toMatchObject(expected[index] ?? {})
      const restored = await market.run(['restore', '--json'], mirror)
      expect([restored.code, restored.stderr]).toEqual([0, expect.stringContaining('new epoch')])
      const { http } = (await market.start(mirror)).ready
      const { sequence } = JSON.parse(restored.stdout) as { sequence: number }
      await eventually(
        () => pullAll(http),
        ({ length }) => length > sequence,
      )
      await market.end()
      const truth = [...market.truth()]
      const status = () => getJson<{ gaps: unknown[] | null }>(`${http}/v1/status`)
      await eventually(status, ({ gaps }) => gaps?.length === 0)
      const events = await eventually(
        () => pullAll(http),
        (pulled) => compare(truth, pulled).missing.length === 0,
      )
      expect(compare(truth, events)).toMatchObject({ missing: [], twice: [], holes: [] })
      const outages = events.filter(({ data, type }) => type === GAP_OPENED && data.cause === 'outage')
      expect(outages).toHaveLength(index === 0 ? 1 : 0)

      // A reader of the lost cluster gets a gap event, and has everything after that.
      const before = read[index] ?? []
      const after = await pullAll(http, '', before.at(-1)?.cursor)
      expect(after[0]).toMatchObject({ type: GAP_OPENED, data: { cause: 'epoch' } })
      expect(compare(truth, [...before, ...after]).missing).toEqual([])

      // Endpoint and positions came with `internal.tables` and `internal.lanes`.
      const shown = await getJson<{ status: string }>(`${http}/v1/webhooks/${endpoint.id}`)
      expect(shown.status).toBe(endpoint.status)
      const delivered = () =>
        new Set(market.delivered.map(({ body }) => keyOf((JSON.parse(body) as ApiEvent).data)))
      const wanted = events.filter(({ type }) => !type.startsWith('bridge.'))
      await eventually(delivered, (keys) => wanted.every(({ data }) => keys.has(keyOf(data))))
    }
    await Promise.all([ofLost, ofUnknown].map((one, index) => takeOver(index, one)))
  }, 400_000)
})

const keyOf = (data: Record<string, unknown>): string => `${String(data.guid)} ${contentHash(data)}`
