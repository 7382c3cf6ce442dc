/** Counts what becomes of each connection to a broker, and of each request on it. */
import type { KafkaApi, KafkaResult } from '../../obs/log-metrics.ts'
import type { Metrics } from '../../obs/metrics.ts'
import type { ConnectionObserver } from './kafkajs-patches.ts'

/** The metrics of Kafka's client. */
export type KafkaMetrics = Pick<Metrics, 'kafkaRequests' | 'kafkaConnections'>

/** Kafka's API keys of the requests that have a label of their own. */
const KEYS: Readonly<Partial<Record<number, KafkaApi>>> = {
  0: 'produce',
  1: 'fetch',
  2: 'list_offsets',
  3: 'metadata',
  10: 'find_coordinator',
  11: 'join_group',
  12: 'heartbeat',
  13: 'leave_group',
  14: 'sync_group',
  22: 'init_producer_id',
  24: 'add_partitions_to_txn',
  26: 'end_txn',
}

/** Errors that mean only that the client is early: each take-over and each group has some. */
const EARLY = new Set<unknown>([
  'CONCURRENT_TRANSACTIONS',
  'COORDINATOR_LOAD_IN_PROGRESS',
  'MEMBER_ID_REQUIRED',
  'REBALANCE_IN_PROGRESS',
])

/** Counts for one session; what its end does to connections and requests is no failure. */
export function countRequests(metrics: KafkaMetrics, isEnded: () => boolean): ConnectionObserver {
  return {
    connected(error) {
      if (error !== null && isEnded()) return
      metrics.kafkaConnections.add({ result: error === null ? 'connected' : 'failed' })
    },
    answered(apiKey, error) {
      if (error !== null && isEnded()) return
      metrics.kafkaRequests.add({ api: KEYS[apiKey] ?? 'other', result: resultOf(error) })
    },
  }
}

/** What an error of kafkajs says of its request; null: it has succeeded. */
export function resultOf(error: unknown): KafkaResult {
  if (error === null) return 'ok'
  const { name = '', type } = error as { name?: string; type?: unknown }
  if (EARLY.has(type)) return 'retry'
  if (name === 'KafkaJSRequestTimeoutError') return 'timeout'
  return name.startsWith('KafkaJSConnection') ? 'disconnected' : 'refused'
}
