/**
 * Names every log event of the program with its meaning for an operator. The logger takes no other name, so a search
 * for an event ends here and where it is logged. `docs/log-events.md` is made from this table.
 */

/** Event name to what happened, and what to do where something has to be done. */
export const logEvents = {
  'archive.upgrade':
    'A store of an earlier version is being brought to the layout of this one; shows the progress.',
  'attempts.dropped': 'Webhook attempts were left out of the history because too many waited to be written.',
  'attempts.follow_failed':
    'The history of webhook attempts cannot be read or stored; lists answer 503 meanwhile.',
  'attempts.lost': 'The history of webhook attempts was damaged; it is kept beside and a new one begins.',
  'attempts.rebuilt':
    'The index of webhook attempts is filled again. Nothing to do; check the disk if it repeats.',
  'attempts.unreadable': 'Some stored webhook attempts cannot be read and are left out of the history.',
  'attempts.write_failed': 'The log does not take the history of webhook attempts; writing is retried.',
  'attempts.write_recovered': 'The history of webhook attempts is written again.',
  'attempts.write_rejected':
    'The log rejected part of the history of webhook attempts for good; it is dropped.',
  'day_report.published': 'The report of a finished London day was published to the status topic.',
  'day_reports.unavailable': 'The reports of days cannot be written at the moment; writing is retried.',
  'endpoint.changed': 'A webhook endpoint was changed; `by` names the token.',
  'endpoint.created': 'A webhook endpoint was created; `by` names the token.',
  'endpoint.deleted': 'A webhook endpoint was deleted; `by` names the token.',
  'endpoint.rotated': 'A webhook endpoint got a new secret; `by` names the token.',
  'endpoints.rewrapped': 'Secrets of webhook endpoints were encrypted again under the current key.',
  'endpoints.undeleted':
    'A late write brought a deleted webhook endpoint back and it could not be removed yet.',
  'endpoints.unreadable': 'A stored webhook endpoint cannot be read by this version and is left out.',
  'exchange_references.scanned':
    "The upstream's list of exchanges was read; `reason` says why not, where it failed.",
  'fund_request.answered': 'A fund request of a client was passed through to the upstream and answered.',
  'gap.opened': 'Items of a stretch of time may be missing; a gap event was published.',
  'http.accept_failed': 'A listener could not accept connections.',
  'http.connections_dropped':
    'Connections were closed at once because the limit of open files allows no more.',
  'http.failed': 'A request failed by a fault of the bridge and was answered 500.',
  'items.beyond_retention':
    'Old items were not published: they may have been published and dropped from the log by age.',
  'kafka.client': 'A message of the Kafka client library.',
  'leader.group_recovered': 'The group that elects the leader answers again.',
  'leader.group_unavailable': 'The group that elects the leader cannot be reached; joining is retried.',
  'leader.lost': 'This process no longer leads; `reason` says why.',
  'leader.rebalancing': 'The group that elects the leader is choosing again.',
  'leader.won': 'This process leads: it polls the upstream and publishes.',
  'log.available': 'The log can be read and written again.',
  'log.claimed': 'This process has become the one writer of the log; `durationMs` is how long that took.',
  'log.hanging_transaction': 'A Kafka transaction of a former writer had no end; it was resolved.',
  'log.low_replication': 'Topics have fewer than three replicas: a lost broker can lose events.',
  'log.reader_recovered': 'A topic can be read again.',
  'log.reader_unavailable': 'A topic cannot be read at the moment; reading is retried.',
  'log.unavailable': 'The log cannot be written or read; nothing is polled until it can. It is retried.',
  'page_scan.completed': 'A chain of pages was read to its end; `kind` says what for.',
  'page_scan.postponed': 'A chain of pages was given up for now; `reason` says why. It is tried again.',
  'poll.done': 'A poll succeeded; the line carries what it brought.',
  'poll.overflow_ignored': 'A full page held nothing but known items, so no fill was started.',
  'process.ready': 'The listeners are open.',
  'process.stopped': 'The process has stopped cleanly.',
  'quota.drift_detected': 'The upstream reports another use of the quota than was counted here.',
  'quota.drift_resolved': 'The upstream reports the use of the quota that was counted here.',
  'quota.spent': 'The weekly quota is spent by our count; nothing is requested until units come back.',
  'replica.damaged':
    'The local replica was damaged and thrown away; it fills itself from Kafka. Check the disk if it repeats.',
  'replica.not_pruned': 'Old events could not be removed from the local replica; it is tried again.',
  'replica.pruned': 'Events that the log has dropped by age were removed from the local replica.',
  'replica.rebuilt': 'The local replica did not fit the log and is filled again.',
  'settings.read': 'The settings of this process, secrets left out.',
  'settings.warning': 'A setting is valid and probably not meant; `warning` says why.',
  'shard.lost': 'This process no longer owns a shard of webhook work.',
  'shards.assigned': 'The shards of webhook work that this process owns have changed.',
  'shards.group_recovered': 'The group that shares webhook work answers again.',
  'shards.group_unavailable': 'The group that shares webhook work cannot be reached; joining is retried.',
  'shards.lost': 'This process lost all its shards of webhook work; `reason` says why.',
  'shards.rebalancing': 'The group that shares webhook work is assigning shards again.',
  'status_topic.recovered': 'The status topic takes heartbeats again.',
  'status_topic.unavailable': 'The status topic does not take heartbeats; they are dropped meanwhile.',
  'stream.closed': 'A WebSocket or server-sent event stream ended; one line about all of it.',
  'stream.failed': 'A stream ended by a fault of the bridge.',
  'streams.capacity_lowered': 'The limit of open files allows fewer streams than the settings ask for.',
  'token.created': 'A token was created; `by` names the token that did it.',
  'token.deleted': 'A token was deleted; `by` names the token that did it.',
  'tokens.unreadable': 'A stored token, or the record of its last use, cannot be read by this version.',
  'tokens.use_unwritten': 'The last use of a token could not be stored.',
  'topic.create_refused': 'The topic of a new category could not be created; its events go to `_other`.',
  'upstream.request_failed': 'A request to the upstream failed; `reason` or `verdict` says how.',
  'webhook.attempt': 'One attempt to deliver a webhook has ended; the line carries how.',
  'webhook.cleanup_delayed': 'Stored state of deleted endpoints could not be removed yet; it is tried again.',
  'webhook.command_delayed': 'An operation on a webhook endpoint could not be stored yet; it is retried.',
  'webhook.command_unreadable': 'A stored operation on a webhook endpoint cannot be read by this version.',
  'webhook.disabled': 'A webhook endpoint was disabled; `reason` says why.',
  'webhook.epoch_changed': 'The log began a new epoch; the endpoint continues an hour before its position.',
  'webhook.fell_behind': 'The log dropped events by age before they were delivered to this endpoint.',
  'webhook.notification_dead': 'A notification to the owner of an endpoint was given up after its last try.',
  'webhook.replay_asked': 'A replay was requested; `by` names the token.',
  'webhook.replay_begun': 'A replay has begun.',
  'webhook.replay_ended': 'A replay was given up because the log began a new epoch.',
  'webhook.secret_unreadable':
    'The secret of an endpoint cannot be opened: nothing is sent to it until it is rotated.',
  'webhook.shard_write_failed': 'The outcome of deliveries cannot be stored; it is retried.',
  'webhook.shard_write_recovered': 'The outcome of deliveries is stored again.',
  'webhook.shards_recovered': 'No shard of webhook work is stuck any more.',
  'webhook.shards_stuck':
    'A shard of webhook work cannot load or store its state; nothing new is delivered from it.',
  'webhook.tested': 'A test event was sent to an endpoint on request.',
} as const

/** The name of a log event. */
export type LogEvent = keyof typeof logEvents
