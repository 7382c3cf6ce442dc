/** Opens kafkajs sessions with this program's timeouts, retries, sockets and logger. */
import { connect as connectTcp, isIP, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { Kafka, type KafkaConfig, type LogEntry, logLevel } from 'kafkajs'
import type { Logger } from '../../obs/logger.ts'
import type { KafkaSettings } from '../../settings/kafka.ts'
import type { KafkaCredentials } from '../../settings/kafka-credentials.ts'
import { PartitionClient } from './kafkajs-internals.ts'
import { type ObservedSocketFactory, patchKafkaJs } from './kafkajs-patches.ts'
import { countRequests, type KafkaMetrics } from './request-metrics.ts'

/** Addresses and credentials of the brokers, as in the settings. */
export interface KafkaConnection extends Pick<KafkaSettings, 'brokers' | 'tls' | 'sasl'> {
  /** The name of this process in brokers' logs and quotas. */
  clientId: string
  /** What `tls` and `sasl` hold for the next connection, where their files change while the process runs; absent: the same. */
  credentials?: () => KafkaCredentials
  /** Where connections and requests are counted; commands count nothing. */
  metrics?: KafkaMetrics
}

/** Connections for one purpose, ended together. */
export interface KafkaSession {
  readonly kafka: Kafka
  /** Reads and writes partitions and probes ACLs over this session's sockets. */
  readonly partitions: PartitionClient
  /** Destroys every connection, fails requests in flight, and refuses new ones. Callable twice. */
  end(): void
}

/**
 * The first pauses are short because the usual reason is a transaction whose markers are still being written (measured:
 * 99 of 100 transactions back to back within 25–46 ms at 5–30 ms). All figures are set, so that none depends on
 * NODE_ENV. About 3 s in all.
 */
const RETRY = { initialRetryTime: 10, maxRetryTime: 300, retries: 15, factor: 0.2, multiplier: 2 }
const CONNECT_TIMEOUT_MS = 3_000
const REQUEST_TIMEOUT_MS = 5_000
const AUTHENTICATE_TIMEOUT_MS = 5_000
const REAUTHENTICATE_BEFORE_MS = 10_000
const KEEP_ALIVE_MS = 60_000

/** Opens sessions with one cluster. A session connects when it is first used. */
export type OpenSession = () => KafkaSession

/** Sessions with the cluster of `connection`. kafkajs's own log lines go to `logger` as debug: its errors are thrown too. */
export function kafkaSessions(connection: KafkaConnection, logger: Logger): OpenSession {
  patchKafkaJs(RETRY)
  const { brokers, clientId, metrics, credentials = () => connection } = connection
  const silent = new Set<string>()
  let first = 0
  return () => {
    const sockets = new SessionSockets(silent, () => credentials().tls)
    const socketFactory: ObservedSocketFactory = Object.assign(
      sockets.open,
      metrics && { observer: countRequests(metrics, () => sockets.ended) },
    )
    first = (first + 1) % brokers.length
    const rotated = [...brokers.slice(first), ...brokers.slice(0, first)]
    const settings: KafkaConfig = {
      // Each session starts with another broker, and with a silent one last: a broker that hangs accepts connections, and
      // every session that starts there fails after five seconds.
      brokers: rotated.toSorted((one, other) => Number(silent.has(one)) - Number(silent.has(other))),
      clientId,
      // Each socket takes the certificates of its moment.
      ssl: connection.tls !== null,
      ...(connection.sasl === null ? {} : { sasl: saslOptions(connection.sasl, credentials) }),
      connectionTimeout: CONNECT_TIMEOUT_MS,
      authenticationTimeout: AUTHENTICATE_TIMEOUT_MS,
      reauthenticationThreshold: REAUTHENTICATE_BEFORE_MS,
      requestTimeout: REQUEST_TIMEOUT_MS,
      enforceRequestTimeout: true,
      retry: RETRY,
    }
    const report = ({ namespace, log }: LogEntry): void => {
      if (!sockets.ended) logger.debug('kafka.client_message', { name: namespace, message: log.message })
    }
    const kafka = new Kafka({
      ...settings,
      socketFactory,
      logLevel: logLevel.WARN,
      logCreator: () => report,
    })
    const partitions = new PartitionClient({
      ...settings,
      // Callers retry with a new session.
      retry: { ...RETRY, retries: 0 },
      socketFactory,
      logger: kafka.logger(),
    })
    return { kafka, partitions, end: sockets.end }
  }
}

/** The password is that of the moment in which kafkajs authenticates. */
function saslOptions(
  sasl: NonNullable<KafkaConnection['sasl']>,
  credentials: () => KafkaCredentials,
): NonNullable<KafkaConfig['sasl']> {
  const options = {
    ...sasl,
    get password() {
      return (credentials().sasl ?? sasl).password
    },
  }
  // kafkajs types each mechanism as a variant of its own.
  return options as NonNullable<KafkaConfig['sasl']>
}

/** The sockets of one session, destroyed together: kafkajs itself waits for responses before it disconnects. */
class SessionSockets {
  readonly #open = new Set<Socket>()
  readonly #silent: Set<string>
  readonly #tls: () => KafkaConnection['tls']
  ended = false

  /**
   * `silent`: addresses (`host:port`) whose last connection closed without having received anything. `tls`: the certificates
   * for the next connection.
   */
  constructor(silent: Set<string>, tls: () => KafkaConnection['tls']) {
    this.#silent = silent
    this.#tls = tls
  }

  readonly open = (to: { host: string; port: number; ssl: unknown; onConnect: () => void }): Socket => {
    if (this.ended) throw new Error('the session has ended')
    const { host, port, ssl, onConnect } = to
    const name = isIP(host) === 0 ? { servername: host } : {}
    const socket = ssl
      ? connectTls({ host, port, ...name, ...tlsOptions(this.#tls()) }, onConnect)
      : connectTcp({ host, port }, onConnect)
    socket.setKeepAlive(true, KEEP_ALIVE_MS)
    socket.setNoDelay(true)
    this.#open.add(socket)
    const address = `${host}:${port}`
    socket.once('data', () => this.#silent.delete(address))
    socket.once('close', () => {
      this.#open.delete(socket)
      if (socket.bytesRead === 0) this.#silent.add(address)
    })
    return socket
  }

  readonly end = (): void => {
    this.ended = true
    for (const socket of this.#open) socket.destroy(new Error('the session has ended'))
  }
}

function tlsOptions(tls: KafkaConnection['tls']): object {
  const given = Object.entries(tls ?? {}).filter(([, text]) => text !== null)
  return { ...Object.fromEntries(given), rejectUnauthorized: true }
}
