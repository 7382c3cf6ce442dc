/**
 * kafkajs as this program uses it. Owns its settings: timeouts, retries, sockets, where its own log goes. Refuses to
 * know topics and transactions.
 */
import { connect as connectTcp, isIP, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { Kafka, type KafkaConfig, type LogEntry, logLevel } from 'kafkajs'
import type { Logger } from '../../obs/logger.ts'
import type { KafkaSettings } from '../../settings/kafka.ts'
import {
  createPartitionClient,
  type LeaderClient,
  type PartitionClient,
  type RightsClient,
} from './kafkajs-internals.ts'
import { repairKafkaJs } from './kafkajs-patches.ts'

/** Where the brokers are and how to be let in, as the settings say it. */
export interface KafkaConnection extends Pick<KafkaSettings, 'brokers' | 'tls' | 'sasl'> {
  /** The name by which brokers' logs and quotas know this process. */
  clientId: string
}

/** Connections for one purpose, ended together. */
export interface KafkaSession {
  readonly kafka: Kafka
  /** Reads and writes partitions over this session's sockets, and asks for rights. */
  readonly partitions: PartitionClient & LeaderClient & RightsClient
  /** Ends every connection at once, fails what is on its way, and lets none begin. Callable twice. */
  end(): void
}

/**
 * The first pauses are short because the usual reason is a transaction whose markers are still being written (measured:
 * 99 of 100 transactions back to back within 25–46 ms at 5–30 ms). All figures are set, so that none depends on
 * NODE_ENV. About 3 s in all; who needs more begins anew.
 */
const RETRY = { initialRetryTime: 10, maxRetryTime: 300, retries: 15, factor: 0.2, multiplier: 2 }
const CONNECT_TIMEOUT_MS = 3_000
const REQUEST_TIMEOUT_MS = 5_000
const AUTHENTICATE_TIMEOUT_MS = 5_000
const REAUTHENTICATE_BEFORE_MS = 10_000
const KEEP_ALIVE_MS = 60_000

/** Opens sessions with one cluster. Nothing connects before it is used. */
export type OpenSession = () => KafkaSession

/** Sessions with the cluster of `connection`. What kafkajs logs goes to `logger` as debug: its errors come as errors. */
export function kafkaSessions(connection: KafkaConnection, logger: Logger): OpenSession {
  repairKafkaJs(RETRY)
  const { brokers, clientId, sasl } = connection
  let first = 0
  return () => {
    const sockets = createSockets()
    first = (first + 1) % brokers.length
    const settings: KafkaConfig = {
      // Each session begins with another broker, so that one that is away is not asked first for ever.
      brokers: [...brokers.slice(first), ...brokers.slice(0, first)],
      clientId,
      ...(connection.tls === null ? {} : { ssl: tlsOptions(connection.tls) }),
      ...(sasl === null ? {} : { sasl: saslOptions(sasl) }),
      connectionTimeout: CONNECT_TIMEOUT_MS,
      authenticationTimeout: AUTHENTICATE_TIMEOUT_MS,
      reauthenticationThreshold: REAUTHENTICATE_BEFORE_MS,
      requestTimeout: REQUEST_TIMEOUT_MS,
      enforceRequestTimeout: true,
      retry: RETRY,
    }
    const report = ({ namespace, log }: LogEntry): void => {
      if (!sockets.ended) logger.debug('kafka.client', { name: namespace, message: log.message })
    }
    const kafka = new Kafka({
      ...settings,
      socketFactory: sockets.open,
      logLevel: logLevel.WARN,
      logCreator: () => report,
    })
    const partitions = createPartitionClient({
      ...settings,
      // Its users begin anew by themselves.
      retry: { ...RETRY, retries: 0 },
      socketFactory: sockets.open,
      logger: kafka.logger(),
    })
    return { kafka, partitions, end: sockets.end }
  }
}

interface Sockets {
  readonly ended: boolean
  open: (to: { host: string; port: number; ssl: unknown; onConnect: () => void }) => Socket
  end(): void
}

/** kafkajs waits for answers before it disconnects; whoever owns the sockets need not. */
function createSockets(): Sockets {
  const sockets = new Set<Socket>()
  let ended = false
  return {
    get ended() {
      return ended
    },
    open({ host, port, ssl, onConnect }) {
      if (ended) throw new Error('the session has ended')
      const name = isIP(host) === 0 ? { servername: host } : {}
      const socket = ssl
        ? connectTls({ host, port, ...name, ...(ssl as object) }, onConnect)
        : connectTcp({ host, port }, onConnect)
      socket.setKeepAlive(true, KEEP_ALIVE_MS)
      socket.setNoDelay(true)
      sockets.add(socket)
      socket.once('close', () => sockets.delete(socket))
      return socket
    },
    end() {
      ended = true
      for (const socket of sockets) socket.destroy(new Error('the session has ended'))
    },
  }
}

function tlsOptions({ ca, cert, key }: NonNullable<KafkaConnection['tls']>): object {
  return {
    ...(ca === null ? {} : { ca }),
    ...(cert === null ? {} : { cert }),
    ...(key === null ? {} : { key }),
  }
}

/** kafkajs tells mechanisms apart by type, one member each. */
function saslOptions(sasl: NonNullable<KafkaConnection['sasl']>): NonNullable<KafkaConfig['sasl']> {
  const { mechanism, username, password } = sasl
  switch (mechanism) {
    case 'plain':
      return { mechanism, username, password }
    case 'scram-sha-256':
      return { mechanism, username, password }
    case 'scram-sha-512':
      return { mechanism, username, password }
  }
}
