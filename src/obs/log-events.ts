/**
 * Lists every log event with the sentence that explains it, which its log line carries as `msg`. The logger accepts no
 * other event name. `docs/log-events.md` is generated from this table.
 */
import { logAdvice } from './log-advice.ts'

/** Event name to what happened, and whether it is retried. What to do is in `log-advice.ts`. */
export const logEvents = {
  'archive.upgrade':
    'Events stored by an earlier version are being converted to the current layout; `sequence` shows how far.',
  'attempt_history.damaged':
    'The stored history of webhook attempts was damaged. The damaged file is kept (.damaged) and an empty history starts; deliveries are not affected.',
  'attempt_history.dropped':
    'Webhook attempts were left out of the attempt history because too many waited to be written. Deliveries are not affected.',
  'attempt_history.entries_unreadable':
    'Some stored webhook attempts cannot be read by this version and are left out of attempt lists.',
  'attempt_history.rebuilt':
    'The local copy of the webhook attempt history was discarded and is being read again from Kafka.',
  'attempt_history.trimmed':
    'The history of webhook attempts was larger than 2 GiB, so attempts of the tenant with most of them were deleted, the oldest first: those that began between `from` and `to`. Deliveries are not affected.',
  'attempt_history.unavailable':
    'The history of webhook attempts cannot be read or stored; requests for it get 503 until a retry succeeds. Deliveries go on.',
  'attempt_history.write_failed':
    'New webhook attempts cannot be written to the attempt history; writing is retried. Deliveries go on.',
  'attempt_history.write_recovered': 'Webhook attempts can be written to the attempt history again.',
  'attempt_history.write_rejected':
    'Writing some webhook attempts failed with an error that retrying cannot fix; they are missing from the attempt history. Deliveries are not affected.',
  'audit.copy_rebuilt':
    'The local copy of the audit journal was damaged; it is discarded and read again from the log.',
  'audit.delayed':
    'The audit journal cannot be written. Entries of changes that were made wait in memory and are written when the log is back; until then changes of tokens and webhooks are refused with 503.',
  'audit.entries_unreadable':
    'Some stored audit entries cannot be read by this version and are missing in `GET /v1/audit`.',
  'audit.lost':
    'An audit entry could not be written before the process stopped, or too many waited. The change was made, or not, as `outcome` says; this line is all that is left of the entry.',
  'audit.recovered': 'The audit journal can be written again; `count` entries had waited.',
  'audit.trimmed':
    'The copy of the audit journal was larger than 2 GiB, so its `count` oldest entries were deleted before their time.',
  'audit.unavailable':
    'The audit journal cannot be read; `GET /v1/audit` lacks new entries until a retry succeeds.',
  'backfill.limited':
    'Half of the quota left does not pay for the whole backfill. The newest days, from `readFrom` on, are read; what is older stays an open gap.',
  'console.build_failed':
    'The page of the console could not be built, so requests for it get 503; the next one tries again. API and streams are not affected.',
  'console.built':
    'The page of the console was built at the first request for it or for a link to it, in a process of its own.',
  'day_report.published':
    'The report on a finished London day was published to the status topic; `verdict` says whether the day is complete.',
  'day_report.write_failed': 'The report on a London day could not be stored or published; it is retried.',
  'endpoint.changed':
    'A webhook endpoint was changed through the API; `by` names the access token that was used.',
  'endpoint.created':
    'A webhook endpoint was created through the API; `by` names the access token that was used.',
  'endpoint.deleted':
    'A webhook endpoint was deleted through the API; `by` names the access token that was used.',
  'endpoint.deletion_undone':
    'A concurrent write from another node brought a deleted webhook endpoint back, and deleting it again failed; another node may still deliver to it.',
  'endpoint.rotated':
    'A webhook endpoint got a new signing secret on request; `by` names the access token that was used.',
  'endpoint.secrets_re_encrypted':
    'Stored secrets of webhook endpoints were encrypted again under the current encryption key.',
  'endpoint.unreadable': 'A stored webhook endpoint cannot be read by this version and gets no deliveries.',
  'exchange_references.not_stored':
    'Exchange references that were read from the upstream could not be stored in the log. They are served, and read again when they are asked for next.',
  'exchange_references.read':
    'A client asked the mirror API for exchange references that are not stored or a day old; the leader read them from the upstream, or could not: then `reason` says why, and the next request tries again.',
  'fault.lasting':
    'A bad state, `what`, lasts since `since`; `hint` says what to do. It is logged once until it is over, after five minutes, or at once where waiting does not help.',
  'fault.over': 'A bad state that was logged as `fault.lasting` is over; it lasted `durationMs`.',
  'fund_request.proxied':
    'A client asked the mirror API for fund data; the request was passed to the upstream and the client got its answer.',
  'gap.opened':
    'Items published between `from` and `to` may be missing. A gap event was published; the bridge keeps trying to fill the gap.',
  'heartbeat.publish_failed':
    'Heartbeats cannot be published to the status topic and are dropped; publishing is retried. Events are not affected.',
  'heartbeat.publish_recovered': 'Heartbeats can be published to the status topic again.',
  'http.accept_failed': 'An HTTP listener failed to accept a connection.',
  'http.certificate_refused':
    'Changed certificate files of the listener cannot be used; the certificate before stays in use.',
  'http.certificate_reloaded': 'The listener has taken a changed certificate into use.',
  'http.connections_dropped':
    'New HTTP connections are closed at once because the listener has as many as it takes; `warning` says what to do.',
  'http.request_failed':
    'An HTTP request failed because of an internal error of the bridge and was answered with status 500.',
  'idempotency_key.removal_delayed':
    'Values of Idempotency-Key whose day is over could not be removed from the log yet; it is retried.',
  'idempotency_key.unreadable':
    'A stored value of Idempotency-Key cannot be read by this version; a repeated request with it acts again.',
  'item.stamped_ahead':
    "The time of an item lies ahead of upstream's present. It was published with `aheadof`; polls do not use its cursor, so that they see what follows.",
  'items.beyond_retention':
    'Items older than the retention of the log were not published: they may have been published before and dropped by age.',
  'kafka.certificate_refused':
    'Changed certificate files of the Kafka client cannot be used; new connections go on with what was read before. `name` is the setting of the file.',
  'kafka.certificate_reloaded':
    'New connections to Kafka use a changed certificate, or trust changed authorities; `name` is the setting of the file, `until` when the first certificate in it expires.',
  'kafka.client_message': 'The Kafka client library wrote this message.',
  'kafka.password_refused':
    'The changed file of the password for Kafka cannot be used; new connections go on with the password before.',
  'kafka.password_reloaded':
    'New connections to Kafka use the password of the changed BRIDGE_KAFKA_SASL_PASSWORD_FILE.',
  'leader.elected': 'This process was elected leader: it polls the upstream and publishes events.',
  'leader.group_recovered': 'The Kafka consumer group that elects the leader can be reached again.',
  'leader.group_unavailable':
    'The Kafka consumer group that elects the leader cannot be reached; joining is retried.',
  'leader.lost':
    'This process is no longer the leader; `reason` says why. Another process takes over if one runs.',
  'leader.rebalancing': 'The Kafka consumer group that elects the leader is rebalancing.',
  'leader.report_unreadable':
    'The topic of status messages has a message that no bridge wrote; it is ignored.',
  'leader.step_down_ordered':
    'An operator has ordered this leader to step down, `bridge admin step-down`: it campaigns again after ten seconds, which other processes have to take the lead.',
  'log.available': 'The event log can be read and written again.',
  'log.begun':
    'This log has no history: nothing was ever requested with it. The stream begins here, in a new `epoch`. Where this is not the first start, BRIDGE_DATA_DIR is not mounted or BRIDGE_TOPIC_PREFIX is another one.',
  'log.claimed':
    'This process is now the only writer of the event log; `durationMs` is how long it took to fence earlier writers.',
  'log.foreign_event':
    'The Kafka topic of all events has a record that is no event, at `offset` and with the key `name`. It is skipped, as are further ones; no event is missing. Other consumers of the topic see it.',
  'log.foreign_record':
    'The Kafka topic `topic` has a record that no bridge wrote, at `offset` and with the key `name`; it is ignored, as are further ones. It may be of a newer version.',
  'log.hanging_transaction':
    'An earlier writer left a Kafka transaction open; it was ended with the result in `outcome` so that readers can go on.',
  'log.level_changed':
    'The level of this log was changed through the API (`bridge audit` says who asked for it) or by SIGUSR2, or went back to BRIDGE_LOG_LEVEL after its time.',
  'log.low_replication': 'Some Kafka topics have fewer than three replicas: losing a broker can lose events.',
  'log.not_pruned':
    'Events beyond the retention could not be removed from the embedded log; it is retried within an hour.',
  'log.pruned':
    'Events older than BRIDGE_ALL_RETENTION were removed from the embedded log; `oldest` is the first sequence that is left, and `rejected` how many rejected items went with them.',
  'log.pruning_waits':
    'Old events stay until another program that reads the file of the embedded log has ended: removing them now would make its write-ahead log grow.',
  'log.reader_recovered': 'A Kafka topic can be read again.',
  'log.reader_unavailable': 'A Kafka topic cannot be read; reading is retried.',
  'log.restore_completed':
    'A bridge restore that was interrupted has been completed: the restored log is in use. `path` holds the files that it replaced.',
  'log.retention_begins':
    'BRIDGE_ALL_RETENTION is set, and an earlier version that kept everything wrote this log.',
  'log.space_kept':
    'The file of the embedded log was made by an earlier version and does not shrink: its free space is used again.',
  'log.space_returned': 'Free space of the file of the embedded log was returned to the file system.',
  'log.unavailable':
    'The event log cannot be read or written. It is retried; nothing is polled until it succeeds.',
  'node.removal_delayed':
    'The row of a node that is long gone could not be removed from the list of nodes yet; it is retried.',
  'node.report_failed':
    'This node could not write its row into the list of nodes; it tries again every 15 s. Meanwhile others may list it as gone; nothing else depends on it.',
  'node.report_recovered': 'This node can write its row into the list of nodes again.',
  'node.unreadable':
    'Another node writes rows into the list of nodes that this version cannot read; it is not listed here.',
  'page_scan.completed':
    'Several pages of the upstream list were read to the end; `kind` says for which purpose.',
  'page_scan.postponed':
    'Reading several pages of the upstream list was interrupted; `reason` says why. It is tried again later.',
  'page_scan.warned':
    'A page of the upstream list came with warnings, or with parts above a limit that were ignored; `warnings` names them.',
  'poll.cursor_dead':
    'The upstream still accepted the cursor of the polls, but listed nothing behind it any more, while a poll by date found newer items. The cursor of that poll is used from now on, and nothing is missing.',
  'poll.done':
    'A poll of the upstream succeeded; `items` is the number of items it returned. One without news is logged at debug, but for the first one and one after a failure.',
  'poll.overflow_ignored':
    'The upstream reported more items than fit on a page, but all items of the page were already published, so no further pages were read.',
  'polling.paused':
    'An operator has paused polling, since `from`: the leader sends nothing to the upstream until it is resumed. Every node writes this, also at its start.',
  'polling.resumed': 'An operator has resumed polling; what was published meanwhile is read now.',
  'polls.write_failed':
    'The requests to upstream that `GET /v1/polls` shows could not be stored; it is retried, and polls go on.',
  'polls.write_recovered': 'The requests to upstream are stored again.',
  'process.ready': 'The process has started and accepts connections.',
  'process.stopped':
    'The process has released everything and ends with `exitCode`: 0 where it was asked to stop. `error` is there where something failed while it stopped.',
  'process.stopping':
    'The process stops; `reason` says why: SIGTERM or SIGINT, `start_failed`, `fault` where a task ended with `error`, or `uncaught` for an error of the program, after which it ends at once.',
  'quota.drift_detected':
    'The upstream reports a different use of the request quota than this bridge counted; another client may use the same key.',
  'quota.drift_resolved':
    'The use of the request quota reported by the upstream matches the count of this bridge again.',
  'quota.spent': 'The weekly request quota is used up by our count; polling stops until units become free.',
  'readiness.check_failed':
    'The check `check` of `/readyz` failed because of an internal error of the bridge; it counts as not passed. It is logged once until the check passes again.',
  'replica.damaged':
    'The local copy of the event log was damaged and discarded; it is filled again from Kafka.',
  'replica.not_pruned':
    'Expired events could not be removed from the local copy of the event log; it is retried.',
  'replica.pruned': 'Events that Kafka dropped by age were removed from the local copy of the event log.',
  'replica.rebuilt':
    'The local copy of the event log belonged to another log and was discarded; it is filled again from Kafka.',
  'session.begun':
    'A browser exchanged a token, or a link of it, for a session of the console; `tokenId` names the token.',
  'session.ended': 'A browser signed out of the console.',
  'session.unlocked': 'A browser showed the token of its session again and may change things for 15 minutes.',
  'settings.read': 'The effective settings of this process; secrets are left out.',
  'settings.warning': 'A setting is valid but probably not what was intended; `warning` says why.',
  'shard.lost': 'This process stopped delivering webhooks for one shard of endpoints; `reason` says why.',
  'shards.assigned':
    'The set of webhook endpoint shards that this process delivers for has changed; `count` is how many it has now.',
  'shards.group_recovered':
    'The Kafka consumer group that distributes webhook endpoints over the processes can be reached again.',
  'shards.group_unavailable':
    'The Kafka consumer group that distributes webhook endpoints over the processes cannot be reached; joining is retried.',
  'shards.lost':
    'This process lost its place in the consumer group and no longer delivers webhooks; `reason` says why. It joins again.',
  'shards.rebalancing':
    'The Kafka consumer group that distributes webhook endpoints over the processes is rebalancing.',
  'stream.closed':
    'A WebSocket or server-sent event (SSE) connection has ended; `code` is its close code and `sent` the number of events it got.',
  'stream.deleted':
    'A stream is ended on request; `by` names the access token that was used. `stream.closed` with the code 4007 follows.',
  'stream.failed':
    'A WebSocket or server-sent event (SSE) connection was ended by an internal error of the bridge.',
  'streams.capacity_lowered':
    'The limit of open files allows fewer streams and pulls than the settings ask for, beside the webhook attempts of this process; the limit was lowered.',
  'token.created': 'An access token was created through the API; `by` names the access token that was used.',
  'token.deleted': 'An access token was deleted through the API; `by` names the access token that was used.',
  'token.last_use_not_stored':
    'The time when an access token was last used could not be stored; it is retried.',
  'token.unreadable':
    'A stored access token cannot be read by this version, and requests with it are rejected; or only the time of its last use cannot be read, and it works.',
  'topic.create_refused':
    'A topic of a category cannot be had, or one that no event needs: Kafka refuses to create it, or it has several partitions. Events of the category go to the topic _other; the next leader tries again.',
  'topic.created_again':
    'A leader, a candidate or a process that writes to a journal found a topic missing and created it again: its older records are gone from it. Those of events are still in the topic `all`; rejected items are in no other topic.',
  'topic.settings_refused':
    'Kafka refuses some settings of new topics, so `count` topics such as `topic` were created without `settings`, or with lower values; `reason` is its own sentence.',
  'traces.export_failed':
    'The receiver of traces does not take them; `reason` says why. Sending goes on, and what does not fit meanwhile is dropped. Events and deliveries are not affected.',
  'traces.export_recovered': 'The receiver of traces takes them again.',
  'upstream.key_refused':
    'The file of the upstream key has changed and holds no usable key, or cannot be read; the key that was read before stays in use.',
  'upstream.key_reloaded':
    'The file of the upstream key has changed; requests from now on carry the new key.',
  'upstream.request_failed':
    'A request to the upstream API failed; `reason` or `verdict` says how. It is retried.',
  'webhook.attempt': 'One attempt to deliver an event to a webhook endpoint has ended.',
  'webhook.command_delayed':
    'An operation on a webhook endpoint (starting a replay, disabling it, or notifying its owner that it was disabled) could not be stored yet; it is retried.',
  'webhook.command_unreadable':
    'A stored operation on a webhook endpoint (starting a replay, disabling it, or notifying its owner that it was disabled) cannot be read by this version and is ignored.',
  'webhook.dead_forgotten':
    'Delivery rows of this tenant take more memory than it may have, so its oldest dead deliveries, up to `sequence`, were forgotten: a replay of `dead` ones leaves them out, one by time or id does not. The member `forgotten` of the health of its endpoints counts them.',
  'webhook.disabled':
    'A webhook endpoint was disabled and gets no more events; `reason` says why. Its owner can enable it again.',
  'webhook.epoch_changed':
    'The event log has a new epoch, or a backup replaced it. Delivery to this endpoint continues an hour before its position, so some events come twice.',
  'webhook.exhausted':
    'Deliveries to a webhook endpoint were given up after their last try; `count` says how many since the last such line. At most one line an hour for each endpoint.',
  'webhook.fell_behind':
    'A webhook endpoint was behind, or paused, for so long that the log dropped events by age before they were delivered to it. It goes on after `sequence`.',
  'webhook.hastened':
    'Deliveries of a webhook endpoint that waited for a retry are due at once, because it was enabled or a test of it succeeded.',
  'webhook.health_not_published':
    'How the deliveries of this node stand could not be stored for other nodes; it is retried.',
  'webhook.no_socket':
    'This process cannot open another connection (`reason`: EMFILE, ENFILE or EADDRNOTAVAIL), so webhook deliveries wait a second and are tried again; no receiver is blamed.',
  'webhook.notification_abandoned':
    'A notification to the owner of a webhook endpoint was given up after its last retry, or, with `attempts` 0, because 10,000 of its tenant wait already.',
  'webhook.recovered':
    'A webhook endpoint that had failed for long or was disabled accepts deliveries again.',
  'webhook.replay_abandoned':
    'A replay of past events to a webhook endpoint was given up because the event log has a new epoch, or a backup replaced it.',
  'webhook.replay_cancel_requested':
    'The end of a replay of past events to a webhook endpoint was requested; `by` names the access token that was used.',
  'webhook.replay_cancelled':
    'A replay of past events to a webhook endpoint was ended before its time; what of it waits for a retry is still sent.',
  'webhook.replay_requested':
    'A replay of past events to a webhook endpoint was requested; `by` names the access token that was used.',
  'webhook.replay_started': 'A replay of past events to a webhook endpoint has started.',
  'webhook.secret_unreadable':
    'The signing secret of a webhook endpoint cannot be decrypted with the configured keys; nothing is sent to it until its secret is rotated.',
  'webhook.shard_write_failed':
    'The delivery state of a shard of webhook endpoints cannot be stored; it is retried.',
  'webhook.shard_write_recovered':
    'Delivery state of a shard of webhook endpoints can be stored again, after failures.',
  'webhook.shards_recovered': 'No shard of webhook endpoints is stuck any more; deliveries go on.',
  'webhook.shards_stuck':
    'The delivery state of a shard of webhook endpoints cannot be loaded or stored; its endpoints get no new deliveries until it can.',
  'webhook.state_removal_delayed':
    'Stored delivery state of deleted webhook endpoints could not be removed yet; it is retried.',
  'webhook.tested': 'A test event was sent to a webhook endpoint on request.',
} as const

/** The sentence in a line of this event: what happened and what to do. */
export function eventMeaning(event: LogEvent): string {
  const advice: Partial<Record<LogEvent, string>> = logAdvice
  const todo = advice[event]
  return todo === undefined ? logEvents[event] : `${logEvents[event]} ${todo}`
}

/** The name of a log event. */
export type LogEvent = keyof typeof logEvents
