/**
 * Defines the metrics of the log: who leads, commits, this node's replica, and requests to Kafka.
 */
import type { Instruments } from './instruments.ts'

/** How a commit ended. */
export const commitOutcomes = ['committed', 'aborted', 'fenced', 'unknown'] as const

/** What became of a commit with an unknown outcome. */
export const resolvedOutcomes = ['committed', 'aborted'] as const

/** Requests of Kafka's protocol that the log sends; `other`: the handshake of a connection, and rare ones. */
export const kafkaApis = [
  'produce',
  'fetch',
  'list_offsets',
  'metadata',
  'find_coordinator',
  'join_group',
  'sync_group',
  'heartbeat',
  'leave_group',
  'init_producer_id',
  'add_partitions_to_txn',
  'end_txn',
  'other',
] as const
export type KafkaApi = (typeof kafkaApis)[number]

/** How such a request ended. */
export const kafkaResults = ['ok', 'retry', 'refused', 'timeout', 'disconnected'] as const
export type KafkaResult = (typeof kafkaResults)[number]

/** Buckets in seconds. */
export const FAST = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

/** The log and this node's replica of it. */
export function logMetrics(make: Instruments) {
  return {
    leader: make.gauge('leader', '1 while this process is the leader, else 0.', {}),
    leaderSince: make.knownGauge(
      'leader_since_timestamp_seconds',
      'When this process became leader, seconds since 1970; only on the leader.',
    ),
    leaderReport: make.knownGauge(
      'leader_report_timestamp_seconds',
      "When the leader made the newest report that this node has received, by the leader's clock, seconds since 1970; absent before the first, and on the embedded log.",
    ),
    leaderTransitions: make.counter(
      'leader_transitions_total',
      'Times this process became leader or stopped being it.',
      {},
    ),
    commits: make.counter(
      'commit_total',
      'Commits to the log, by outcome. `fenced` counts each time that a write, of a commit, a unit or a claim, found that another process has claimed the log. An `unknown` one that turns out not to have been made counts as `aborted` then, too.',
      { outcome: commitOutcomes },
    ),
    commitUnresolved: make.gauge(
      'commit_unresolved',
      '1 from a write with an unknown outcome until the leader has read what became of it, else 0.',
      {},
    ),
    commitsResolved: make.counter(
      'commit_resolved_total',
      'Commits with an unknown outcome of which the leader has read afterwards what became of them. Items of `committed` ones count in bridge_items_total from then on, in no latency; those of `aborted` ones are fetched again.',
      { outcome: resolvedOutcomes },
    ),
    commitDuration: make.histogram('commit_duration_seconds', 'Duration of a commit.', {}, FAST),
    groupCommitWaiting: make.gauge(
      'group_commit_waiting',
      'Writes of tables, shards and journals of the embedded log that wait for the next transaction.',
      {},
    ),
    groupCommitWait: make.histogram(
      'group_commit_wait_seconds',
      'From when such a write was asked for until it was durable or had failed.',
      {},
      FAST,
    ),
    itemsRejectedKept: make.knownGauge(
      'items_rejected_kept',
      'Rejected items that the embedded log keeps; absent on Kafka, where they lie in a topic.',
    ),
    logSequence: make.knownGauge(
      'log_sequence',
      'Sequence of the newest event that this process knows; absent until it has heard of the log.',
    ),
    followerLagEvents: make.knownGauge(
      'follower_lag_events',
      'Events in the log that the replica of this node does not have yet; absent while the log does not answer, or has not answered yet.',
    ),
    followerLag: make.knownGauge(
      'follower_lag_seconds',
      'Age of the oldest event that the replica lacks; while the log is unavailable, time since its last response; absent until this process has heard of the log, for ten seconds at most.',
    ),
    kafkaRequests: make.counter(
      'kafka_requests_total',
      'Requests to Kafka brokers, each try for itself. `retry`: the broker asks to come back, e.g. while it ends the transaction before; `refused`: any other error of a broker; `disconnected`: the connection ended before the response. On the embedded log always 0.',
      { api: kafkaApis, result: kafkaResults },
    ),
    kafkaConnections: make.counter(
      'kafka_connections_total',
      'Connections to Kafka brokers that were tried. On the embedded log always 0.',
      { result: ['connected', 'failed'] },
    ),
  }
}
