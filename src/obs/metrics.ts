/**
 * Every metric of the process (contract §9), by name, in one place. Owns names, help texts, label sets and buckets.
 * Refuses to measure: whoever does the work calls these. `docs/metrics.md` is made from here.
 */
import { collectDefaultMetrics } from 'prom-client'
import { endpointStatuses } from '../core/endpoint-status.ts'
import { purposes } from '../core/purpose.ts'
import { createInstruments, type MetricDoc } from './instruments.ts'

/** How often the delay of the event loop is looked at, ms, which is also the least that it shows. Each look wakes the process. */
const LOOP_LOOK_MS = 100

/** How a request to the upstream ended. */
export const pollResults = [
  'new',
  'empty',
  'throttled',
  'quota',
  'client_error',
  'server_error',
  'timeout',
  'network',
  'invalid',
] as const

/** One of them. */
export type PollResult = (typeof pollResults)[number]

/** What became of an item. `late` counts beside `new` or `amended`. */
export const dispositions = ['new', 'amended', 'duplicate', 'late', 'rejected'] as const

/** How a gap changed. */
export const gapStates = ['opened', 'filled', 'given_up'] as const

/** How a commit ended. */
export const commitOutcomes = ['committed', 'aborted', 'fenced', 'unknown'] as const

/** How streams are carried. */
export const transports = ['ws', 'sse'] as const

/**
 * Why a stream ended: the close codes of contract §8 for either transport (on SSE they are only counted), those of the
 * WebSocket protocol itself, `client` where the client left by itself, `500` for a fault of ours on SSE.
 */
export const streamCloseCodes = [
  'client',
  '1002',
  '1003',
  '1007',
  '1008',
  '1009',
  '1011',
  '4001',
  '4003',
  '4006',
  '4010',
  '4100',
  '4108',
  '4129',
  '4200',
  '4201',
  '500',
] as const
export type StreamCloseCode = (typeof streamCloseCodes)[number]

/** How an attempt to deliver a webhook ended. */
export const attemptOutcomes = [
  'ok',
  'client_error',
  'gone',
  'throttled',
  'server_error',
  'timeout',
  'dns',
  'connect',
  'tls',
  'blocked',
] as const
/** One of them. */
export type AttemptOutcome = (typeof attemptOutcomes)[number]

/** Buckets in seconds, from the facts about operating it. */
const FAST = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
const SLOW = [0.1, 0.25, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1800, 3600]

/** Everything that can be measured; the content type and text of a scrape; the docs. */
export type Metrics = ReturnType<typeof createMetrics>

/** All metrics on a registry of their own, registered at zero. `version` goes into `bridge_build_info`. */
export function createMetrics(options: { version: string }) {
  const make = createInstruments()
  const { registry } = make
  const metrics = {
    pollRequests: make.counter(
      'poll_requests_total',
      'Requests to the upstream with the key, so those that cost a unit.',
      {
        purpose: purposes,
        result: pollResults,
      },
    ),
    pollLastSuccess: make.gauge(
      'poll_last_success_timestamp_seconds',
      'When a poll last succeeded, seconds since 1970; 0 before the first.',
      {},
    ),
    pollInterval: make.gauge('poll_interval_seconds', 'Interval to the next planned poll.', {}),
    items: make.counter('items_total', 'Items read; late counts beside new or amended.', {
      disposition: dispositions,
    }),
    gaps: make.counter('gaps_total', 'Changes of gaps.', { state: gapStates }),
    gapsOpen: make.gauge('gaps_open', 'Gaps that are open now.', {}),
    detectionLatency: make.histogram(
      'detection_latency_seconds',
      'Upstream time of an item to when it was first held; backfilled items stay out.',
      {},
      SLOW,
    ),
    publishLatency: make.histogram('publish_latency_seconds', 'First held to committed.', {}, FAST),
    upstream429: make.counter('upstream_429_total', 'Refusals 429 of the upstream, as judged.', {
      kind: ['throttle', 'quota', 'unknown'],
    }),
    quotaLimit: make.gauge('quota_limit_units', 'Units of the weekly quota.', {}),
    quotaUsed: make.gauge('quota_used_units', 'Units used of it.', {}),
    quotaRemaining: make.gauge('quota_remaining_units', 'Units left of it.', {}),
    quotaReset: make.gauge(
      'quota_reset_timestamp_seconds',
      'When units come back, seconds since 1970; 0 while unknown.',
      {},
    ),
    quotaForecast: make.gauge(
      'quota_forecast_ratio',
      'Planned use over what is left; above 1 the quota runs out.',
      {},
    ),
    leader: make.gauge('leader', '1 while this process leads, else 0.', {}),
    leaderTransitions: make.counter(
      'leader_transitions_total',
      'Times this process began or ceased to lead.',
      {},
    ),
    commits: make.counter('commit_total', 'Commits to the log.', { outcome: commitOutcomes }),
    commitDuration: make.histogram('commit_duration_seconds', 'Duration of a commit.', {}, FAST),
    logSequence: make.gauge('log_sequence', 'Sequence of the last event that this process knows of.', {}),
    followerLagEvents: make.gauge('follower_lag_events', 'Events that the copy is behind the log.', {}),
    followerLag: make.gauge(
      'follower_lag_seconds',
      'Age of the oldest event that the copy lacks; while the log does not answer, time since its last answer.',
      {},
    ),
    streamClients: make.gauge('stream_clients', 'Streams open now.', { transport: transports }),
    streamEventsSent: make.counter('stream_events_sent_total', 'Events written to streams.', {
      transport: transports,
    }),
    streamSendLatency: make.histogram(
      'stream_send_latency_seconds',
      'Readable on this node to written to the socket, of events that came while the stream was live.',
      {},
      FAST,
    ),
    streamCloses: make.counter('stream_closes_total', 'Ends of streams, by close code.', {
      transport: transports,
      code: streamCloseCodes,
    }),
    streamSlowClients: make.gauge(
      'stream_slow_clients',
      'Streams whose client has not yet taken what was written.',
      {},
    ),
    webhookAttempts: make.counter(
      'webhook_attempts_total',
      'Attempts to deliver a webhook that had an end.',
      {
        outcome: attemptOutcomes,
      },
    ),
    webhookAttemptDuration: make.histogram(
      'webhook_attempt_duration_seconds',
      'Duration of an attempt, from the question for the name to the last byte.',
      {},
      FAST,
    ),
    webhookDeliveryLatency: make.histogram(
      'webhook_delivery_latency_seconds',
      'From when the bridge first held an item to the answer that took its event; replays stay out.',
      {},
      SLOW,
    ),
    webhookPending: make.gauge(
      'webhook_pending',
      'Deliveries under way or waiting on this node; what an endpoint has not read yet is not among them.',
      {},
    ),
    webhookOldestPending: make.gauge(
      'webhook_oldest_pending_seconds',
      'Age of the oldest of them, since the bridge first held its item; 0 where there is none.',
      {},
    ),
    webhookJournalDropped: make.counter(
      'webhook_journal_dropped_total',
      'Attempts that the journal did not take: it lists what it has, and no delivery depends on it.',
      {},
    ),
    webhookEndpoints: make.gauge('webhook_endpoints', 'Endpoints that this node knows of.', {
      status: endpointStatuses,
    }),
  }
  make
    .gauge('build_info', 'Always 1; the label tells the version.', { version: [options.version] })
    .set({ version: options.version }, 1)
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: LOOP_LOOK_MS })
  return {
    ...metrics,
    /** Content type of a scrape. */
    contentType: registry.contentType as string,
    /** The text of a scrape. */
    scrape: (): Promise<string> => registry.metrics(),
    /** Name, type, help and labels of each metric of ours. */
    docs: make.docs as readonly MetricDoc[],
  }
}
