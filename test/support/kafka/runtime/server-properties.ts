/** Builds a broker's listeners and `server.properties`, with settings that keep it small, quick and local. */
import type { KafkaVersion } from './versions.ts'

/** A listener of every node, besides the plain one that brokers and readiness use. */
export interface ListenerSpec {
  /** Letters, digits and underscores, e.g. `TLS`. */
  name: string
  protocol: 'PLAINTEXT' | 'SSL' | 'SASL_PLAINTEXT' | 'SASL_SSL'
  /** True where clients are told another port than the broker listens on: that of a proxy in front of it. */
  behindProxy?: boolean
  /** Settings of this listener, without the prefix that names it. */
  properties?: Readonly<Record<string, string>>
}

/** A listener with its ports on one node. */
export interface Listener extends ListenerSpec {
  port: number
  /** What clients are told; the same as `port` unless `behindProxy`. */
  advertisedPort: number
}

/** One node of a cluster, as its properties need it. */
export interface NodeSetup {
  nodeId: number
  version: KafkaVersion
  logFolder: string
  listeners: readonly Listener[]
  controllerPort: number
  /** Node ids and controller ports of all nodes. */
  voters: readonly { nodeId: number; controllerPort: number }[]
  /** Settings of the caller; they win. */
  properties: Readonly<Record<string, string>>
}

/** The listener that every node has: without encryption, for tests' own reads, between brokers, for readiness. */
export const PLAIN: ListenerSpec = { name: 'PLAINTEXT', protocol: 'PLAINTEXT' }

const CONTROLLER = 'CONTROLLER'

/** The text of `server.properties`. */
export function serverProperties(node: NodeSetup): string {
  const replicas = String(Math.min(3, node.voters.length))
  const inSync = node.voters.length >= 3 ? '2' : '1'
  const at = (name: string, port: number): string => `${name}://127.0.0.1:${port}`
  const settings: Record<string, string> = {
    'process.roles': 'broker,controller',
    'node.id': String(node.nodeId),
    'controller.quorum.voters': node.voters
      .map(({ nodeId, controllerPort }) => `${nodeId}@127.0.0.1:${controllerPort}`)
      .join(','),
    listeners: [
      ...node.listeners.map(({ name, port }) => at(name, port)),
      at(CONTROLLER, node.controllerPort),
    ].join(','),
    'advertised.listeners': node.listeners
      .map(({ name, advertisedPort }) => at(name, advertisedPort))
      .join(','),
    'controller.listener.names': CONTROLLER,
    'inter.broker.listener.name': PLAIN.name,
    'listener.security.protocol.map': [
      `${CONTROLLER}:PLAINTEXT`,
      ...node.listeners.map(({ name, protocol }) => `${name}:${protocol}`),
    ].join(','),
    'log.dirs': node.logFolder,
    // Topics exist because somebody made them.
    'auto.create.topics.enable': 'false',
    'default.replication.factor': replicas,
    'min.insync.replicas': inSync,
    'offsets.topic.replication.factor': replicas,
    'offsets.topic.num.partitions': '1',
    'transaction.state.log.replication.factor': replicas,
    'transaction.state.log.min.isr': inSync,
    'transaction.state.log.num.partitions': '1',
    'transaction.abort.timed.out.transaction.cleanup.interval.ms': '1000',
    'group.initial.rebalance.delay.ms': '0',
    'log.cleaner.dedupe.buffer.size': '2097152',
    // A broker that comes back after kill -9 waits until its earlier session is over.
    'broker.session.timeout.ms': '3000',
    'broker.heartbeat.interval.ms': '500',
    ...node.version.properties,
    ...ofListeners(node.listeners),
    ...node.properties,
  }
  return Object.entries(settings)
    .map(([name, value]) => `${name}=${value.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')}\n`)
    .join('')
}

function ofListeners(listeners: readonly Listener[]): Record<string, string> {
  return Object.fromEntries(
    listeners.flatMap(({ name, properties = {} }) =>
      Object.entries(properties).map(([key, value]) => [`listener.name.${name.toLowerCase()}.${key}`, value]),
    ),
  )
}
