/** An installation with a fault: how it is broken and mended, and what it stands on. */
import { type KafkaCluster, type KafkaNode, startCluster } from '../kafka/cluster.ts'
import type { KafkaRuntime } from '../kafka/runtime/runtime.ts'
import { type Installation, startInstallation } from './installation.ts'

/** An installation that can be broken and mended. */
export interface PlacedFault extends AsyncDisposable {
  installation: Installation
  break(): Promise<void> | void
  mend(): Promise<void> | void
  /** True where service discovery forgets its processes while it is broken. */
  isForgotten?: boolean
}

/** Where installations get their Kafka. */
export interface Brokers {
  /** A broker for all that leave it alone; it ends with the play. */
  shared(): Promise<KafkaCluster>
  /** One more, which its fault may stop. */
  own(): Promise<KafkaCluster>
}

/** Starts them at once. Rejects where one does not start; those that did end with `made`. */
export async function startAll(
  made: AsyncDisposableStack,
  starts: readonly ((brokers: Brokers) => Promise<PlacedFault>)[],
  kafka: KafkaRuntime,
): Promise<PlacedFault[]> {
  let shared: Promise<KafkaCluster> | null = null
  const brokers = {
    shared: () => {
      shared ??= startCluster({ runtime: kafka }).then((cluster) => made.use(cluster))
      return shared
    },
    own: async () => made.use(await startCluster({ runtime: kafka })),
  }
  const started = await Promise.allSettled(starts.map((start) => start(brokers)))
  const placed = started.flatMap((one) => (one.status === 'fulfilled' ? [made.use(one.value)] : []))
  for (const one of started) if (one.status === 'rejected') throw one.reason
  return placed
}

/** An installation of so many processes on a broker that is its own. */
export async function startOnOwnBroker(
  name: string,
  kafka: Brokers,
  nodes: number,
): Promise<{ installation: Installation; broker: KafkaNode }> {
  const cluster = await kafka.own()
  const [broker] = cluster.nodes
  if (broker === undefined) throw new Error('the cluster has no broker')
  return { installation: await startInstallation({ name, brokers: cluster.brokers, nodes }), broker }
}

/** The addresses of its processes. */
export const targetsOf = ({ installation }: PlacedFault): string[] =>
  installation.nodes.map(({ target }) => target)

/** The installation goes first, then what it stands on. */
export function disposedWith(
  installation: Installation,
  ground?: AsyncDisposable,
): Pick<PlacedFault, 'installation' | typeof Symbol.asyncDispose> {
  return {
    installation,
    async [Symbol.asyncDispose]() {
      await installation[Symbol.asyncDispose]()
      await ground?.[Symbol.asyncDispose]()
    },
  }
}
