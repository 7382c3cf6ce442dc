/** Kafka and storage: commits, the replicas of the log, files and disks, certificates. */
import type { Board } from './board.ts'
import { limitOf, objectiveLimit } from './limits.ts'
import { byInstallation, byProcess, hourOf, INSTALLATION, quantilesOf, rateOf } from './query.ts'

export const storage: Board = {
  uid: 'bridge-storage',
  title: 'Bridge: Kafka and storage',
  about: 'Commits, the replicas of the log, Kafka, files and disks, certificates.',
  rows: [
    {
      title: 'Log',
      panels: [
        {
          kind: 'number',
          title: 'Last sequence',
          about: 'Of the newest event that a process of the installation knows.',
          unit: 'short',
          queries: [byInstallation('max', 'bridge_log_sequence')],
        },
        {
          kind: 'number',
          title: 'Write with an unknown outcome',
          about: '1 until the leader has read what became of it.',
          unit: 'short',
          limit: limitOf('BridgeCommitUnknown'),
          queries: [byInstallation('max', 'bridge_commit_unresolved')],
        },
        {
          kind: 'graph',
          title: 'Commits by outcome',
          about: 'A poll without news commits nothing here.',
          unit: 'ops',
          queries: [rateOf('bridge_commit_total', 'outcome')],
        },
        {
          kind: 'graph',
          title: 'Unknown outcomes that were resolved, an hour',
          about: 'By what the leader found in the log afterwards. Items of aborted ones are fetched again.',
          unit: 'short',
          queries: [hourOf('bridge_commit_resolved_total', 'outcome')],
        },
        {
          kind: 'graph',
          title: 'Duration of a commit',
          about: 'The line is the objective of 99.9 %.',
          unit: 's',
          limit: objectiveLimit('commit'),
          queries: quantilesOf('bridge_commit_duration_seconds', 0.999),
        },
        {
          kind: 'graph',
          title: 'Replicas behind the log, seconds',
          about:
            'Age of the oldest event that the replica lacks; while the log is unavailable, time since its last response.',
          unit: 's',
          limit: limitOf('BridgeCopyBehind'),
          queries: [byProcess('bridge_follower_lag_seconds')],
        },
        {
          kind: 'graph',
          title: 'Replicas behind the log, events',
          about: 'Events in the log that the replica does not have yet.',
          unit: 'short',
          queries: [byProcess('bridge_follower_lag_events')],
        },
      ],
    },
    {
      title: 'Embedded log',
      panels: [
        {
          kind: 'graph',
          title: 'Wait of writes for their transaction',
          about:
            'Of tables, shards and journals: until durable. Usually at most 10 ms, on a slow disk 60 ms, and its write.',
          unit: 's',
          log: 'embedded',
          queries: quantilesOf('bridge_group_commit_wait_seconds'),
        },
        {
          kind: 'graph',
          title: 'Writes that wait',
          about: 'For the next transaction.',
          unit: 'short',
          log: 'embedded',
          queries: [byProcess('bridge_group_commit_waiting')],
        },
      ],
    },
    {
      title: 'Kafka',
      panels: [
        {
          kind: 'graph',
          title: 'Age of the newest report of the leader',
          about: 'As this node has received it. The leader reports every 5 s: beyond 10 s it is silent.',
          unit: 's',
          isSigned: true,
          log: 'kafka',
          queries: [byProcess('(time() - bridge_leader_report_timestamp_seconds)')],
        },
        {
          kind: 'graph',
          title: 'Requests to brokers',
          about: 'By the request of the Kafka protocol. A reader that waits for news fetches once a second.',
          unit: 'reqps',
          log: 'kafka',
          queries: [rateOf('bridge_kafka_requests_total', 'api')],
        },
        {
          kind: 'graph',
          title: 'Requests to brokers without success',
          about:
            '`retry` is usual: the broker ends the transaction before, or a group is forming. The others are failures.',
          unit: 'reqps',
          log: 'kafka',
          queries: [rateOf('bridge_kafka_requests_total{result!="ok"}', 'result')],
        },
        {
          kind: 'graph',
          title: 'Share of requests and connections that fail',
          about: 'Of the last five minutes, without `retry`.',
          unit: 'percentunit',
          limit: limitOf('BridgeKafkaErrors'),
          log: 'kafka',
          queries: [{ expr: `bridge:kafka:failed_ratio${INSTALLATION}`, legend: '{{installation}}' }],
        },
        {
          kind: 'graph',
          title: 'Connections to brokers, an hour',
          about: 'Tried ones. Many that succeed mean that they do not last.',
          unit: 'short',
          log: 'kafka',
          queries: [hourOf('bridge_kafka_connections_total', 'result')],
        },
      ],
    },
    {
      title: 'Files and disks',
      panels: [
        {
          kind: 'graph',
          title: 'Files of the data directory',
          about: '`-wal` is the write-ahead log of the file before it.',
          unit: 'bytes',
          queries: [byProcess('bridge_store_bytes', 'file')],
        },
        {
          kind: 'graph',
          title: 'Free bytes',
          about: 'On the volume of the data directory. Below the line somebody is woken up.',
          unit: 'bytes',
          limit: limitOf('BridgeDiskLow'),
          queries: [byProcess('bridge_data_free_bytes')],
        },
        {
          kind: 'number',
          title: 'Since the last backup',
          about: 'By `bridge backup`. Nothing is shown where there was none.',
          unit: 's',
          limit: limitOf('BridgeBackupOld'),
          log: 'embedded',
          queries: [byProcess('(time() - bridge_backup_last_success_timestamp_seconds)')],
        },
      ],
    },
    {
      title: 'Certificates and keys',
      panels: [
        {
          kind: 'number',
          title: 'Certificates are valid for',
          about: 'Until the first of each chain expires.',
          unit: 's',
          isSigned: true,
          limit: limitOf('BridgeCertificateExpires'),
          queries: [byProcess('(bridge_tls_certificate_expiry_timestamp_seconds - time())', 'certificate')],
        },
        {
          kind: 'number',
          title: 'Time since a new upstream key',
          about:
            'Since a changed `BRIDGE_UPSTREAM_KEY_FILE` was taken. Nothing is shown while the key is that of the start.',
          unit: 's',
          queries: [byProcess('(time() - bridge_upstream_key_reload_timestamp_seconds)')],
        },
      ],
    },
  ],
}
