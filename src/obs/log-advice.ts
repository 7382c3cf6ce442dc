/** Says what to do about log events at `warn` and `error`, as their lines and `docs/log-events.md` do. */

/** Event name to what to do. */
export const logAdvice = {
  'attempt_history.damaged': 'Check the disk; the damaged file may be deleted.',
  'attempt_history.dropped': 'Look at the load and the disk of this node if it repeats.',
  'attempt_history.entries_unreadable': 'Run the version that wrote them if you need them.',
  'attempt_history.rebuilt': 'Nothing to do; check the disk if it repeats.',
  'attempt_history.trimmed': 'Look which of its endpoints fails or replays that much.',
  'attempt_history.unavailable':
    'Look at the room on the volume of BRIDGE_DATA_DIR, or at Kafka, if it lasts.',
  'attempt_history.write_failed':
    'Look at the room on the volume of BRIDGE_DATA_DIR, or at Kafka, if `attempt_history.write_recovered` does not follow.',
  'attempt_history.write_rejected':
    'Read `error`: the rights on the topic of attempts, or its largest message, do not suffice.',
  'audit.copy_rebuilt': 'Nothing to do; check the disk if it repeats.',
  'audit.delayed':
    'Look at the room on the volume of BRIDGE_DATA_DIR; on Kafka, whether this process may write to the topic that `error` names.',
  'audit.entries_unreadable': 'Run the version that wrote them if you need them.',
  'audit.lost': 'Keep this line where the audit journal matters: nothing else has this entry.',
  'audit.trimmed': 'Look in `bridge audit` which token makes that many changes.',
  'audit.unavailable': 'Look at the room on the volume of BRIDGE_DATA_DIR, or at Kafka, if it lasts.',
  'backfill.limited':
    'A shorter BRIDGE_BACKFILL avoids it: polls of the first week are fewer, and items later, for what the backfill took.',
  'console.build_failed': 'Read `error`; install the product again if files are missing.',
  'day_report.write_failed': 'Nothing to do unless it repeats: then see `log.unavailable`.',
  'endpoint.deletion_undone': 'Delete it again.',
  'endpoint.unreadable': 'Run the version that wrote it, or create the endpoint again.',
  'exchange_references.not_stored': 'Nothing to do unless it repeats: then see `log.unavailable`.',
  'exchange_references.read': 'Nothing to do.',
  'fault.lasting': 'Do what `hint` says.',
  'gap.opened': 'Nothing to do unless it stays open: see the alert BridgeGapOpen.',
  'heartbeat.publish_failed': 'Look at Kafka if `heartbeat.publish_recovered` does not follow.',
  'http.accept_failed': 'Read `error`; raise the limit of open files (LimitNOFILE) where it is EMFILE.',
  'http.certificate_refused': 'Read `error`, and put certificate and key that belong together in place.',
  'http.connections_dropped': 'Do what `warning` says.',
  'http.request_failed': 'Report `error` with its stack as a bug.',
  'idempotency_key.removal_delayed': 'Nothing to do unless it repeats: then see `log.unavailable`.',
  'idempotency_key.unreadable': 'Run the version that wrote it, or let its day pass.',
  'item.stamped_ahead': 'Tell the provider of upstream if it happens often.',
  'items.beyond_retention': 'Raise BRIDGE_ALL_RETENTION if they should be published.',
  'kafka.certificate_refused': 'Do what the hint of `error` says, before the certificate in use expires.',
  'kafka.password_refused': 'Do what the hint of `error` says.',
  'leader.group_unavailable': 'Look at Kafka if `leader.group_recovered` does not follow.',
  'leader.report_unreadable': 'Check who may write to this topic.',
  'log.foreign_event':
    'Stop the other program, or take its right to write to the topics of this prefix; then restart the bridge to see whether more came.',
  'log.foreign_record':
    'Stop the program that writes there, unless it is a newer version of the bridge; check who may write to this topic.',
  'log.hanging_transaction': 'Nothing to do.',
  'log.level_changed': 'Nothing to do.',
  'log.low_replication': 'Run three brokers, and raise the replication of the topics.',
  'log.not_pruned': 'Look at the room on the volume of BRIDGE_DATA_DIR if it repeats.',
  'log.pruning_waits': 'End the program that reads the file, such as a long backup.',
  'log.reader_unavailable': 'Look at Kafka if `log.reader_recovered` does not follow.',
  'log.restore_completed': 'Delete the files at `path` once you need them no more.',
  'log.retention_begins': 'Older events are removed after `from`; unset it before then to keep them.',
  'log.unavailable': 'Do what the hint of `error` says if it lasts.',
  'node.removal_delayed': 'Nothing to do unless it repeats: then see `log.unavailable`.',
  'node.report_failed': 'Look at Kafka if `node.report_recovered` does not follow.',
  'node.unreadable': 'Nothing to do while versions differ; else find out what wrote it.',
  'page_scan.postponed':
    'Nothing to do. Where it lasts an open gap tells what is missing: `gapId`, or that of `gap.opened`.',
  'page_scan.warned': 'Read `warnings`; tell the provider of upstream if they repeat.',
  'poll.cursor_dead': 'Nothing to do; tell the provider of upstream if it repeats.',
  'poll.done': 'Nothing to do, but read `warnings` where it has them.',
  'poll.overflow_ignored': 'Nothing to do; tell the provider of upstream if it repeats.',
  'polling.paused': '`bridge status` says who and why; `bridge admin resume` ends it.',
  'polls.write_failed':
    'Nothing to do unless `polls.write_recovered` does not follow: then see `log.unavailable`.',
  'process.stopped': 'Do what the hint of `error` says, here or in `process.stopping`.',
  'process.stopping':
    'Where `error` is there, do what its `hint` says; the process manager starts the process again.',
  'quota.drift_detected':
    'Look for another program that uses the key, and compare BRIDGE_UPSTREAM_PLAN with the plan of the key.',
  'quota.spent': 'Wait until units come back, or look what spent them: `GET /v1/quota`.',
  'readiness.check_failed': 'Report `error` with its stack as a bug.',
  'replica.damaged': 'Nothing is lost; check the disk if it repeats.',
  'replica.not_pruned': 'Look at the room on the volume of BRIDGE_DATA_DIR if it repeats.',
  'replica.rebuilt':
    'Nothing to do; check that BRIDGE_DATA_DIR belongs to this installation alone if it repeats.',
  'settings.warning': 'Do what `warning` says.',
  'shards.group_unavailable': 'Look at Kafka if `shards.group_recovered` does not follow.',
  'shards.lost':
    'Nothing to do unless it repeats: then look at the load of this node and at its way to Kafka.',
  'stream.failed': 'Report `error` with its stack as a bug; the client connects again.',
  'streams.capacity_lowered':
    'Raise the limit of open files (ulimit -n, LimitNOFILE), or lower the settings.',
  'token.last_use_not_stored': 'Nothing to do unless it repeats: then see `log.unavailable`.',
  'token.unreadable': 'Run the version that wrote it, or create a new token.',
  'topic.create_refused':
    'Read `error`: allow the bridge to create topics, or create this one with one partition.',
  'topic.created_again':
    'Find out who deleted it. Let its consumers read what they lack from `all`: their positions in it are void.',
  'topic.settings_refused': 'Allow the settings, or set them by hand.',
  'traces.export_failed': 'Check OTEL_EXPORTER_OTLP_ENDPOINT and the receiver.',
  'upstream.key_refused': 'Write the key alone into the file; the old one stays in use until then.',
  'upstream.request_failed': 'Nothing to do unless it lasts: then `fault.lasting` follows with a hint.',
  'webhook.command_delayed': 'Nothing to do unless it repeats: then see `log.unavailable`.',
  'webhook.command_unreadable': 'Run the version that wrote it, or start the operation again.',
  'webhook.dead_forgotten': 'Look which of its endpoints fail.',
  'webhook.epoch_changed': 'Nothing to do; receivers drop repeated ids.',
  'webhook.exhausted':
    'Look at the attempts of the endpoint, and replay what is dead once its receiver is well.',
  'webhook.fell_behind':
    'Tell its owner, whose receiver lacks the events before; raise BRIDGE_ALL_RETENTION if it repeats.',
  'webhook.health_not_published': 'Nothing to do unless it repeats: then see `log.unavailable`.',
  'webhook.no_socket':
    'Raise the limit of open files (ulimit -n, LimitNOFILE), or find out what holds so many.',
  'webhook.notification_abandoned': 'Tell the owner of the endpoint by another way.',
  'webhook.replay_abandoned': 'Start the replay again if its events are still wanted.',
  'webhook.secret_unreadable':
    'Give BRIDGE_SECRET_KEY_OLD the key it was encrypted with, or rotate the secret of the endpoint.',
  'webhook.shard_write_failed':
    'Look at the room on the volume of BRIDGE_DATA_DIR, or at Kafka, if `webhook.shard_write_recovered` does not follow.',
  'webhook.shards_stuck':
    'Look at the room on the volume of BRIDGE_DATA_DIR, or at Kafka; `webhook.shards_recovered` says that it is over.',
  'webhook.state_removal_delayed': 'Nothing to do unless it repeats: then see `log.unavailable`.',
} as const
