/**
 * Runs a leader and a warm standby on one Kafka, a separate reader of `all`, and a market that publishes an item on
 * demand. After each failover the standby is the leader, and the old leader is restarted as standby.
 */
import { setTimeout as wait } from 'node:timers/promises'
import type { Consumer, Kafka } from 'kafkajs'
import { isoSeconds } from '../../src/core/dates.ts'
import { systemClock } from '../../src/lifecycle/clock.ts'
import { startSandbox } from '../../src/sandbox/sandbox.ts'
import {
  type BridgeProcess,
  bridgeEnv,
  startBridge,
  temporaryDirectory,
} from '../../test/support/bridge-process.ts'
import { eventually, getJson } from '../../test/support/http/api-client.ts'
import { kafkaClient, uniqueName } from '../../test/support/kafka/clients.ts'

/** Settings of the bridges. */
export interface PairOptions {
  brokers: readonly string[]
  /** Of the plan `advanced`. */
  weeklyQuota: number
  /** Command that runs instead of `bridge run`. */
  script?: string
}

/** A running pair. Disposing of it kills both. */
export interface Pair extends AsyncDisposable {
  readonly leader: BridgeProcess
  readonly standby: BridgeProcess
  /** The topic of all events. */
  readonly topic: string
  /** Publishes a new item at upstream; returns its guid. */
  publish(): string
  /** Resolves with the machine's time at which the reader got the item. */
  read(guid: string): Promise<number>
  /** To be called when the leader's process has ended and the standby leads: resolves with a new, warm standby. */
  renew(): Promise<void>
}

const READ_TIMEOUT_MS = 300_000
const LOOK_MS = 2

/** Starts both and the reader; resolves when the first leads and the second is standby with a current replica. */
export async function startPair({ brokers, weeklyQuota, script }: PairOptions): Promise<Pair> {
  await using stack = new AsyncDisposableStack()
  const sandbox = await startSandbox(
    { scenario: 'quiet', plan: 'advanced', weeklyQuota, backlog: 0 },
    { clock: systemClock },
  )
  stack.defer(() => sandbox.close())
  const prefix = uniqueName('failover')
  const topic = `${prefix}.all`
  const kafka = kafkaClient(brokers)
  const begin = (dataDir: string): Promise<BridgeProcess> => {
    const env = bridgeEnv(sandbox, dataDir, {
      BRIDGE_KAFKA_BROKERS: brokers.join(','),
      BRIDGE_TOPIC_PREFIX: prefix,
      BRIDGE_UPSTREAM_PLAN: 'advanced',
      BRIDGE_UPSTREAM_WEEKLY_QUOTA: String(weeklyQuota),
      BRIDGE_LOG_LEVEL: 'debug',
    })
    return script === undefined ? startBridge(env) : startBridge(env, [], script)
  }
  const directories = [stack.use(temporaryDirectory()), stack.use(temporaryDirectory())] as const
  let leader = await begin(directories[0].path)
  let standby = leader
  let leaderDirectory = 0
  stack.defer(async () => {
    await Promise.all([leader.stop('SIGKILL'), standby.stop('SIGKILL')])
  })
  await eventually(leader.stderr, (text) => text.includes('"event":"poll.done"'))
  const readAtMs = new Map<string, number>()
  const reader = await readTopic(kafka, topic, readAtMs)
  stack.defer(() => reader.disconnect())
  standby = await begin(directories[1].path)
  await untilWarm(kafka, `${prefix}.leader`, leader, standby)
  const owned = stack.move()
  let shown = 0
  return {
    get leader() {
      return leader
    },
    get standby() {
      return standby
    },
    topic,
    publish() {
      shown += 1
      const guid = `urn:newsml:bench.example:${String(shown).padStart(6, '0')}`
      const timestamp = isoSeconds(sandbox.marketNow())
      sandbox.publish([itemOf(guid, timestamp)])
      return guid
    },
    async read(guid) {
      const endMs = systemClock.now() + READ_TIMEOUT_MS
      for (;;) {
        const atMs = readAtMs.get(guid)
        if (atMs !== undefined) return atMs
        if (systemClock.now() > endMs)
          throw new Error(`${guid} never came:\n${standby.stderr().slice(-4000)}`)
        await wait(LOOK_MS)
      }
    },
    async renew() {
      leader = standby
      standby = await begin(directories[leaderDirectory === 0 ? 0 : 1].path)
      leaderDirectory = 1 - leaderDirectory
      await untilWarm(kafka, `${prefix}.leader`, leader, standby)
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

/** Reads as a consumer would: plain kafkajs, its own defaults, `read_committed`. */
async function readTopic(kafka: Kafka, topic: string, readAtMs: Map<string, number>): Promise<Consumer> {
  const consumer = kafka.consumer({ groupId: uniqueName('reader') })
  await consumer.connect()
  await consumer.subscribe({ topic, fromBeginning: true })
  await consumer.run({
    eachMessage: async ({ message }) => {
      readAtMs.set(String(message.headers?.ce_id), systemClock.now())
    },
  })
  return consumer
}

/** Resolves when both are in the group, at rest, and the standby's replica equals the leader's. */
async function untilWarm(
  kafka: Kafka,
  groupId: string,
  leader: BridgeProcess,
  standby: BridgeProcess,
): Promise<void> {
  const admin = kafka.admin()
  await admin.connect()
  try {
    await eventually(
      async () => {
        const { groups } = await admin.describeGroups([groupId])
        return { state: groups[0]?.state, members: groups[0]?.members.length }
      },
      ({ state, members }) => state === 'Stable' && members === 2,
    )
  } finally {
    await admin.disconnect()
  }
  const held = async ({ ready }: BridgeProcess): Promise<number> =>
    (await getJson<{ copy: { sequence: number } }>(`${ready.http}/v1/status`)).copy.sequence
  const sequence = await held(leader)
  await eventually(
    () => held(standby),
    (copied) => copied >= sequence,
  )
}

function itemOf(guid: string, timestamp: string): object {
  return {
    rnsId: guid.slice(-5),
    timestamp,
    source: 'RNS',
    guid,
    version: 1,
    issuer: { name: 'Bench plc' },
    headline: 'An item for the next leader',
    category: [
      { kind: 'Native', code: 'RE', name: 'Results' },
      { kind: 'FCA', code: 'FR', name: 'Final Results' },
    ],
    publication: [],
  }
}
