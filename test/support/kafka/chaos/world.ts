/** Sets up two bridges that share one Kafka, each behind its own proxies, while a burst of items arrives. */
import { systemClock } from '../../../../src/lifecycle/clock.ts'
import { type Sandbox, startSandbox } from '../../../../src/sandbox/sandbox.ts'
import { bridgeEnv, temporaryDirectory } from '../../bridge-process.ts'
import { eventually, getJson, pullAll } from '../../http/api-client.ts'
import { compare, type TruthItem } from '../../worlds/completeness.ts'
import { startCountingFront } from '../../worlds/counting-front.ts'
import { uniqueName } from '../clients.ts'
import { type KafkaCluster, startCluster } from '../cluster.ts'
import { PROXIED, startProxies } from '../proxy/proxy.ts'
import type { KafkaRuntime } from '../runtime/runtime.ts'
import { type Burst, startBurst } from './burst.ts'
import { createPlace, type Place } from './place.ts'
import { wayOver } from './way.ts'

/** Time for the last failover, the page scans that fill gaps (retried after 30 s), and a busy machine. */
const LONGEST_REST_MS = 180_000
/** Time for brokers that restart, a session timeout, a claim, and a busy machine. */
const LONGEST_FAILOVER_MS = 120_000

/** The leader and the standby. */
export interface Sides {
  leader: Place
  standby: Place
}

/** The world. Disposing of it kills what still runs. */
export interface ChaosWorld extends AsyncDisposable {
  readonly cluster: KafkaCluster
  readonly sandbox: Sandbox
  readonly burst: Burst
  readonly prefix: string
  readonly places: readonly [Place, Place]
  /** A topic's name in the cluster. */
  topic(name: string): string
  /** Resolves when one place leads, by its own requests after its claim, and both run. */
  sides(): Promise<Sides>
  /** Resolves when that place has claimed again, after `sinceMs` (ms since 1970). */
  claims(place: Place, sinceMs: number): Promise<void>
  /** Resolves when the leader has committed more events than there are now. */
  flows(): Promise<void>
  /**
   * Ends the burst; resolves when everything that the market had shown by then is held by both places and no gap is open,
   * with that. The market itself goes on: what it shows from now on may come too late for places that are stopped.
   */
  rests(): Promise<readonly TruthItem[]>
}

/** Starts brokers, market and both bridges; the burst runs when this resolves. */
export async function startChaosWorld(options: {
  runtime: KafkaRuntime
  nodes: 1 | 3
  seed: number
}): Promise<ChaosWorld> {
  await using stack = new AsyncDisposableStack()
  const names = ['one', 'other'] as const
  const listenerOf = (name: string) => ({ ...PROXIED, name: name.toUpperCase() })
  const cluster = stack.use(await startCluster({ ...options, listeners: names.map(listenerOf) }))
  const sandbox = await startSandbox(
    { scenario: 'quiet', plan: 'advanced', weeklyQuota: 1_000_000, seed: options.seed },
    { clock: systemClock },
  )
  stack.defer(() => sandbox.close())
  const prefix = uniqueName('chaos')
  const place = async (name: string): Promise<Place> => {
    const proxies = await startProxies(cluster, listenerOf(name))
    for (const proxy of proxies) stack.use(proxy)
    const front = stack.use(await startCountingFront(sandbox.url))
    const directory = stack.use(temporaryDirectory())
    const env = bridgeEnv({ url: front.url, key: sandbox.key }, directory.path, {
      BRIDGE_KAFKA_BROKERS: cluster.addresses(listenerOf(name).name).join(','),
      BRIDGE_TOPIC_PREFIX: prefix,
      BRIDGE_UPSTREAM_PLAN: 'advanced',
    })
    const made = createPlace({ name, env, front, way: wayOver(proxies) })
    stack.defer(async () => {
      if (made.isRunning()) await made.stop('SIGKILL')
    })
    return made
  }
  const places = [await place(names[0]), await place(names[1])] as const
  await places[0].start()
  // The first response has the cursor at which the stream begins.
  await eventually(places[0].front.arrivals, ({ length }) => length > 1, LONGEST_FAILOVER_MS)
  await places[1].start()
  const burst = startBurst(sandbox, options.seed)
  stack.defer(() => burst.end())
  const owned = stack.move()
  const sides = (): Promise<Sides> => leading(places)
  return {
    cluster,
    sandbox,
    burst,
    prefix,
    places,
    topic: (name) => `${prefix}.${name}`,
    sides,
    async claims(place, sinceMs) {
      const claimed = (fences: readonly number[]): boolean => fences.some((atMs) => atMs > sinceMs)
      await eventually(place.fences, claimed, LONGEST_FAILOVER_MS).catch((cause) => {
        throw new Error(`${place.name} has not claimed after ${sinceMs}`, { cause })
      })
    },
    async flows() {
      const { leader } = await sides()
      const latest = async (): Promise<number> => (await statusOf(leader)).log.latest
      const before = await latest()
      await eventually(latest, (sequence) => sequence > before, LONGEST_FAILOVER_MS)
    },
    async rests() {
      await burst.end()
      // The expected items grow with the market, which continues.
      const items = [...sandbox.truth().items]
      await Promise.all(places.map((place) => holdsAll(place, items)))
      return items
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

interface Status {
  log: { latest: number }
  gaps: unknown[] | null
}

function statusOf(place: Place): Promise<Status> {
  return getJson<Status>(`${place.bridge().ready.http}/v1/status`)
}

async function leading(places: readonly [Place, Place]): Promise<Sides> {
  const look = (): Sides | null => {
    const [one, other] = places
    const [leader, standby] = lastFence(one) > lastFence(other) ? [one, other] : [other, one]
    const leads = (leader.front.arrivals().at(-1) ?? 0) > lastFence(leader)
    return leads && leader.isRunning() && standby.isRunning() ? { leader, standby } : null
  }
  const found = await eventually(look, (sides) => sides !== null, LONGEST_FAILOVER_MS)
  if (found === null) throw new Error('nobody leads')
  return found
}

function lastFence(place: Place): number {
  return place.fences().at(-1) ?? 0
}

async function holdsAll(place: Place, items: readonly TruthItem[]): Promise<void> {
  const look = async () => {
    const { gaps, log } = await statusOf(place)
    // Reads everything only once it can be complete. A node that has heard from no leader does not know of gaps.
    if (gaps === null || gaps.length > 0 || log.latest < items.length)
      return { gaps: gaps?.length, latest: log.latest }
    return { missing: compare(items, await pullAll(place.bridge().ready.http)).missing }
  }
  await eventually(look, ({ missing }) => missing?.length === 0, LONGEST_REST_MS)
}
