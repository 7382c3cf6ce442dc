/**
 * Proxies between clients and one broker by Kafka's frames, to inject faults. It rewrites nothing: the broker must
 * advertise the proxy's address (`behindProxy` of a listener), and use no encryption.
 */
import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import type { KafkaCluster } from '../cluster.ts'
import type { ListenerSpec } from '../runtime/server-properties.ts'
import { joinSockets, type ProxyConnection } from './proxy-connection.ts'
import { createProxyRules, type ProxyRules } from './proxy-rules.ts'

/** The part of the rules that a test uses. */
type Faults = Pick<ProxyRules, 'hold' | 'dropReplies' | 'delay' | 'blackHole' | 'refuse' | 'seen'>

/** A running proxy with its faults. Disposing of it ends every connection. */
export interface KafkaProxy extends Faults, AsyncDisposable {
  /** What clients connect to, as `host:port`. */
  readonly address: string
  /** Connections of clients that are open now. */
  readonly connections: number
  /** Resets every client's connection of this moment. Requests that are held stay on their way. */
  cut(): void
  /**
   * Callable twice.
   * @throws Error when somebody sent what is not Kafka
   */
  close(): Promise<void>
}

/** A listener whose clients are sent to a proxy. */
export const PROXIED: ListenerSpec = { name: 'PROXIED', protocol: 'PLAINTEXT', behindProxy: true }

/** Opens a proxy on a port of 127.0.0.1 in front of a port of the same machine. */
export async function startProxy(ports: { port: number; brokerPort: number }): Promise<KafkaProxy> {
  const rules = createProxyRules()
  const connections = new Set<ProxyConnection>()
  const failures: Error[] = []
  const server = createServer({ noDelay: true }, (client) => {
    if (rules.refuses()) {
      client.resetAndDestroy()
      return
    }
    const broker = connect({ port: ports.brokerPort, host: '127.0.0.1', noDelay: true })
    const connection = joinSockets(client, broker, rules)
    connections.add(connection)
    connection.ended
      .catch((error: Error) => failures.push(error))
      .finally(() => connections.delete(connection))
  })
  server.listen(ports.port, '127.0.0.1')
  await once(server, 'listening')
  const close = async (): Promise<void> => {
    if (server.listening) server.close()
    const ends = [...connections].map(({ ended }) => ended.catch(() => undefined))
    for (const connection of connections) connection.destroy()
    await Promise.all(ends)
    const [failure] = failures.splice(0)
    if (failure !== undefined) throw failure
  }
  return {
    ...rules,
    address: `127.0.0.1:${ports.port}`,
    get connections() {
      return connections.size
    },
    cut() {
      for (const connection of connections) connection.cut()
    },
    close,
    [Symbol.asyncDispose]: close,
  }
}

/** A proxy in front of each node of a cluster that has that listener, in the order of the nodes. */
export function startProxies(cluster: KafkaCluster, listener = PROXIED): Promise<KafkaProxy[]> {
  return Promise.all(
    cluster.nodes.map((node) => {
      const { port, advertisedPort } = node.listener(listener.name)
      return startProxy({ port: advertisedPort, brokerPort: port })
    }),
  )
}
