/**
 * Kills a bridge with kill -9 at random moments while it sends bursts of webhooks, and checks every delivery. It
 * restarts the bridge each time, on the embedded log, or on Kafka with one process or two. Used by `npm run campaign`
 * and, with five kills, by the tests.
 */
import { seededChance } from '../../src/core/chance.ts'
import { systemClock } from '../../src/lifecycle/clock.ts'
import { startSandbox } from '../../src/sandbox/sandbox.ts'
import { type BridgeProcess, bridgeEnv, startBridge, temporaryDirectory } from '../support/bridge-process.ts'
import { eventually, pullAll } from '../support/http/api-client.ts'
import { uniqueName } from '../support/kafka/clients.ts'
import { startCluster } from '../support/kafka/cluster.ts'
import { askEndpoints, LOCAL_RECEIVERS } from '../support/webhooks/endpoint-api.ts'
import { receiverScripts, startScriptedReceivers } from '../support/webhooks/scripted-receivers.ts'
import {
  allTaken,
  judgeWebhooks,
  type OwedEndpoint,
  owedOf,
  type WebhookVerdict,
} from '../support/webhooks/webhook-verdict.ts'
import { kafkaOf } from './kafka.ts'

/** Longest time between two kills, ms. On Kafka a dead process's shard is reassigned after the session timeout, 6 s. */
const LONGEST_LIFE_MS = { embedded: 2500, kafka: 12_000 }
/** The longest retry of these scripts comes after half a minute, ±10 %; a machine under load is slow besides. */
const REST_MS = 150_000

/** Interval of checks whether all is delivered; longer than the poll interval. */
const LOOK_MS = 2000

/** Settings of the endpoints; each has the receiver of its name. */
const ENDPOINTS = {
  healthy: { maxConcurrency: 8 },
  slow: { maxConcurrency: 16 },
  failing: { maxConcurrency: 4 },
  ordered: { maxConcurrency: 8, order: 'issuer' },
  filtered: { maxConcurrency: 2, filter: { importance: 'high+' } },
} as const
const SCRIPTS = {
  ...receiverScripts,
  ordered: receiverScripts.healthy,
  filtered: receiverScripts.healthy,
}

/** Settings of one run. */
export interface WebhookKills {
  seed: number
  kills: number
  /** Of the sandbox. */
  scenario: string
  /** null: the embedded log. `prefix` is this run's own. */
  kafka: { brokers: readonly string[]; prefix: string } | null
  /** Processes on Kafka; one of them is killed at a time. */
  nodes: 1 | 2
  /** `BRIDGE_ROLES` of the second process; all roles by default. */
  secondRoles?: string
}

/** The result of one run. */
export interface WebhookKillRun extends WebhookVerdict {
  seed: number
  kills: number
  events: number
  /** Of Kafka: how many shards each process had at the end. */
  shards: number[]
  seconds: number
}

/** One run; its last processes continue until everything is delivered or the time limit is over. */
export async function webhookKillRun(run: WebhookKills): Promise<WebhookKillRun> {
  const { seed, kills, scenario, kafka } = run
  const beganMs = performance.now()
  const chance = seededChance(seed)
  await using receiver = await startScriptedReceivers(SCRIPTS, seededChance(seed + 1))
  const directories = Array.from({ length: run.nodes }, () => temporaryDirectory())
  const sandbox = await startSandbox(
    { scenario, plan: 'advanced', weeklyQuota: 1_000_000, seed },
    { clock: systemClock },
  )
  const start = (node: number): Promise<BridgeProcess> =>
    startBridge(
      bridgeEnv(sandbox, directories[node]?.path ?? '', {
        BRIDGE_UPSTREAM_PLAN: 'advanced',
        BRIDGE_DRAIN_TIMEOUT: 'PT10S',
        ...LOCAL_RECEIVERS,
        ...(kafka !== null && {
          BRIDGE_KAFKA_BROKERS: kafka.brokers.join(','),
          BRIDGE_TOPIC_PREFIX: kafka.prefix,
        }),
        BRIDGE_ROLES: node === 1 ? (run.secondRoles ?? 'all') : 'all',
      }),
    )
  const bridges: BridgeProcess[] = []
  try {
    for (const node of directories.keys()) bridges.push(await start(node))
    const first = (): string => bridges[0]?.ready.http ?? ''
    await eventually(
      () => pullAll(first()),
      (events) => events.length > 0,
    )
    const made = await makeEndpoints(first(), receiver.url)
    for (let kill = 0; kill < kills; kill++) {
      await sleepMs(chance.between(0, LONGEST_LIFE_MS[kafka === null ? 'embedded' : 'kafka']))
      const victim = chance.between(0, run.nodes - 1)
      await bridges[victim]?.stop('SIGKILL')
      // Its last requests are still in the sockets.
      await sleepMs(50)
      receiver.killed()
      bridges[victim] = await start(victim)
    }
    const owing = async (): Promise<OwedEndpoint[]> => {
      const events = await pullAll(first())
      const important = await pullAll(first(), '&importance=high%2B')
      return made.map((one) => ({ ...one, owed: owedOf(one.receiver === 'filtered' ? important : events) }))
    }
    const untilMs = performance.now() + REST_MS
    let owed = await owing()
    for (let before = 0, isSettled = false; !isSettled && performance.now() < untilMs; ) {
      await sleepMs(LOOK_MS)
      // Reading everything takes from the bridges what they deliver with: not while there is something to wait for.
      if (!sandbox.finished() || !allTaken(owed, receiver.receipts)) continue
      owed = await owing()
      const count = owed[0]?.owed.length ?? 0
      isSettled = count === before && allTaken(owed, receiver.receipts)
      before = count
    }
    const verdict = judgeWebhooks(owed, receiver.receipts, kills)
    const shards = kafka === null ? [] : bridges.map(shardsOf)
    for (const bridge of bridges) {
      const code = await bridge.stop()
      if (code !== 0) verdict.broken.push(`a bridge ended with ${code}: ${bridge.stderr().slice(-2000)}`)
    }
    const seconds = Math.round((performance.now() - beganMs) / 1000)
    return { seed, kills, events: owed[0]?.owed.length ?? 0, shards, seconds, ...verdict }
  } finally {
    for (const bridge of bridges) await bridge.stop('SIGKILL')
    await sandbox.close()
    for (const directory of directories) directory[Symbol.dispose]()
  }
}

type Made = Omit<OwedEndpoint, 'owed'>

async function makeEndpoints(base: string, url: (receiver: string) => string): Promise<Made[]> {
  const made: Made[] = []
  for (const [receiver, wanted] of Object.entries(ENDPOINTS)) {
    const asked = { url: url(receiver), since: '2000-01-01', ...wanted }
    const { id, secret } = await askEndpoints(base, 'POST', '', asked)
    const order = 'order' in wanted ? wanted.order : 'none'
    made.push({ receiver, id, secret, maxConcurrency: wanted.maxConcurrency, order })
  }
  return made
}

/** How many shards the group last assigned to the process, from its log. */
function shardsOf(bridge: BridgeProcess): number {
  const lines = bridge.stderr().split('\n')
  const last = lines.findLast((line) => /"event":"shards\.(?:assigned|lost)"/.test(line))
  return last === undefined ? 0 : Number(JSON.parse(last).count ?? 0)
}

function sleepMs(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

/** Several runs. */
export interface WebhookKillReport {
  kills: number
  kafka: string | null
  owed: number
  received: number
  missing: number
  repeats: number
  runs: WebhookKillRun[]
  failed: string[]
}

/** Kills in one run. */
const KILLS_A_RUN = 10

/**
 * Runs this many kills, ten per run, with consecutive seeds from `firstSeed` on; on Kafka (`version` is a release) every
 * second run has two processes. It calls `notify` for each run.
 */
export async function webhookKillRuns(
  kills: number,
  {
    version,
    firstSeed,
    notify,
  }: { version: string | null; firstSeed: number; notify: (run: WebhookKillRun) => void },
): Promise<WebhookKillReport> {
  const runtime = version === null ? null : await kafkaOf(version)
  await using cluster = runtime === null ? null : await startCluster({ runtime })
  const report: WebhookKillReport = {
    kills: 0,
    kafka: runtime?.version.number ?? null,
    owed: 0,
    received: 0,
    missing: 0,
    repeats: 0,
    runs: [],
    failed: [],
  }
  for (let seed = firstSeed; report.kills < kills; seed++) {
    const kafka = cluster === null ? null : { brokers: cluster.brokers, prefix: uniqueName('kills') }
    const run = await webhookKillRun({
      seed,
      kills: Math.min(KILLS_A_RUN, kills - report.kills),
      scenario: 'flood',
      kafka,
      nodes: kafka !== null && seed % 2 === 0 ? 2 : 1,
    })
    report.runs.push(run)
    for (const name of ['kills', 'owed', 'received', 'missing', 'repeats'] as const) report[name] += run[name]
    if (run.broken.length > 0) report.failed.push(`seed ${seed}: ${run.broken.join('; ')}`)
    notify(run)
  }
  return report
}
