/**
 * Defines every metric of the process: name, help text, labels and buckets. `docs/metrics.md` is generated from it.
 */
import { collectDefaultMetrics } from 'prom-client'
import { attemptOutcomes } from '../core/attempt-end.ts'
import { endpointStatuses } from '../core/endpoint-status.ts'
import { purposes } from '../core/purpose.ts'
import { openMetricsText } from './exemplars.ts'
import { createInstruments, type Instruments, type MetricDoc } from './instruments.ts'
import { FAST, logMetrics } from './log-metrics.ts'
import { processMetrics } from './process-metrics.ts'

/** Sampling interval of the event loop delay, ms; also the smallest delay it shows. Each sample wakes the process. */
const LOOP_SAMPLE_MS = 100

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

/** A result of a request to the upstream. */
export type PollResult = (typeof pollResults)[number]

/** How the upstream responds to the leader; `waiting` before the leader's first request. */
export const upstreamStates = ['ok', 'throttled', 'quota', 'unauthorised', 'failing', 'waiting'] as const

/** What an item was found to be. `late` is counted in addition to `new` or `amended`. */
export const dispositions = ['new', 'amended', 'duplicate', 'late', 'rejected'] as const

/**
 * What is known of a day that is over. `gaps_left` is that of a day with an open gap; the others are the states of its daily
 * reconciliation, as `GET /v1/report` names them.
 */
export const dayStates = [
  'complete',
  'gaps_left',
  'pending',
  'over_budget',
  'failed',
  'missed',
  'not_due',
  'none',
] as const

/** How a gap changed. */
export const gapStates = ['opened', 'filled', 'given_up'] as const

/** Transports of streams. */
export const transports = ['ws', 'sse'] as const

/**
 * Why a stream ended: the bridge's close codes, which SSE streams only count; those of the WebSocket protocol; `client`
 * where the client disconnected; `500` for a fault of the bridge on SSE.
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
  '4007',
  '4010',
  '4100',
  '4108',
  '4129',
  '4200',
  '4201',
  '500',
] as const
export type StreamCloseCode = (typeof streamCloseCodes)[number]

/**
 * Why the public listener refused a request or a connection: more pipelined requests than may wait; as many connections
 * as there may be, or of one address; as many requests a second as a token or an address may send; as many waiting or
 * reading pulls as a token, an address or the node may have; a client that takes nothing of its answer.
 */
export const httpRefusalCauses = [
  'pipelined',
  'connections',
  'address_connections',
  'token_rate',
  'address_rate',
  'token_pulls',
  'address_pulls',
  'pulls',
  'stalled',
] as const
export type HttpRefusalCause = (typeof httpRefusalCauses)[number]

/** Statuses of requests without a token or without the right. */
export const unauthorisedCodes = ['401', '403'] as const

/** Classes of a response's status. */
export const httpCodeClasses = ['2xx', '3xx', '4xx', '5xx', 'none'] as const

/** Buckets in seconds; few, because each route has them all. */
const REQUESTS = [0.005, 0.025, 0.1, 0.5, 1, 2.5, 10, 30]
/** Buckets in seconds. */
const SLOW = [0.1, 0.25, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1800, 3600]
/** An attempt may take 15 s. */
const ATTEMPTS = [...FAST, 15, 30]
/** Retries go on for two days. */
const DELIVERIES = [...SLOW, 4 * 3600, 24 * 3600, 72 * 3600]

/** The instruments, the text of a scrape, and the documentation of each metric. */
export type Metrics = ReturnType<typeof createMetrics>

/** All metrics on a new registry, at zero. `version` is the label of `bridge_build_info`, `installation` of `bridge_info`. */
export function createMetrics({
  version,
  installation = 'disclosures',
}: {
  version: string
  installation?: string
}) {
  const make = createInstruments()
  const { registry } = make
  const metrics = {
    ...ingestMetrics(make),
    ...logMetrics(make),
    ...streamMetrics(make),
    ...httpMetrics(make),
    ...webhookMetrics(make),
    ...processMetrics(make),
  }
  make.gauge('build_info', 'Always 1; the version is its label.', { version: [version] }).set({ version }, 1)
  make
    .gauge('info', 'Always 1; the label names the installation (`BRIDGE_INSTALLATION`).', {
      installation: [installation],
    })
    .set({ installation }, 1)
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: LOOP_SAMPLE_MS })
  return {
    ...metrics,
    /** Content type of a scrape. */
    contentType: registry.contentType as string,
    /** The text of a scrape. */
    scrape: (): Promise<string> => registry.metrics(),
    /** The same as OpenMetrics, with exemplars. */
    scrapeOpenMetrics: async (): Promise<string> => openMetricsText(await registry.metrics(), make.exemplars),
    /** Name, type, help and labels of each metric of ours. */
    docs: make.docs as readonly MetricDoc[],
  }
}

/** The upstream: polls, items, gaps and the quota. */
function ingestMetrics(make: Instruments) {
  return {
    pollRequests: make.counter('poll_requests_total', 'Requests to the upstream that cost a quota unit.', {
      purpose: purposes,
      result: pollResults,
    }),
    pollLastSuccess: make.knownGauge(
      'poll_last_success_timestamp_seconds',
      'Time of the last successful poll, seconds since 1970; only on the leader, absent before the first.',
    ),
    pollInterval: make.knownGauge(
      'poll_interval_seconds',
      'Time between the last poll and the next planned one; only on the leader.',
    ),
    items: make.counter('items_total', 'Items read; late ones are counted in addition to new or amended.', {
      disposition: dispositions,
    }),
    itemsAhead: make.counter(
      'items_ahead_total',
      "Items published whose time lies more than a minute ahead of upstream's present.",
      {},
    ),
    gaps: make.counter('gaps_total', 'Gaps by change of state.', { state: gapStates }),
    gapsOpen: make.knownGauge('gaps_open', 'Gaps that are open now; only on the leader.'),
    detectionLatency: make.tracedHistogram(
      'detection_latency_seconds',
      'From the upstream time of an item until the bridge fetched it; without backfilled items.',
      SLOW,
    ),
    publishLatency: make.tracedHistogram(
      'publish_latency_seconds',
      'From fetching an item until its event was committed.',
      FAST,
    ),
    pollPublishLatency: make.histogram(
      'poll_publish_latency_seconds',
      'The same for items of polls whose page had everything: they wait for no fill, only for the log.',
      {},
      FAST,
    ),
    upstream429: make.counter('upstream_429_total', 'Status 429 from the upstream, by cause as classified.', {
      kind: ['throttle', 'quota', 'unknown'],
    }),
    quotaLimit: make.knownGauge('quota_limit_units', 'Weekly quota, units; only on the leader.'),
    quotaUsed: make.knownGauge('quota_used_units', 'Units used of the weekly quota; only on the leader.'),
    quotaRemaining: make.knownGauge(
      'quota_remaining_units',
      'Units left of the weekly quota; only on the leader.',
    ),
    quotaReset: make.knownGauge(
      'quota_reset_timestamp_seconds',
      'When used units return, seconds since 1970; only on the leader.',
    ),
    quotaForecast: make.knownGauge(
      'quota_forecast_ratio',
      'Planned use, or that of a usual week at least, divided by the units left; above 1 polls become rarer, or end before units come back. Only on the leader.',
    ),
    quotaDrift: make.knownGauge(
      'quota_drift_ratio',
      'Units that upstream reports as used minus our count, over the quota: above 0 another program uses the key. Only on the leader, absent where upstream does not report.',
    ),
    upstreamState: make.knownGauges(
      'upstream_state',
      'How upstream responds: 1 for the present state, 0 for the others; only on the leader.',
      { state: upstreamStates },
    ),
    pollingPaused: make.knownGauge(
      'polling_paused',
      '1 while an operator has paused polling, else 0; only on the leader.',
    ),
    clockSkew: make.knownGauge(
      'clock_skew_seconds',
      "Upstream's clock minus ours; only on the leader, absent before the first successful poll.",
    ),
    days: make.knownGauges(
      'days',
      'London days of the last week that are over, by what is known of them; only on the leader. Each counts once. `gaps_left`: a gap of it is open; `complete`: read again to the end, and no gap is open.',
      { state: dayStates },
    ),
  }
}

/** The live feed. */
function streamMetrics(make: Instruments) {
  return {
    streamClients: make.gauge('stream_clients', 'Streams that are open now.', { transport: transports }),
    streamEventsSent: make.counter('stream_events_sent_total', 'Events written to streams.', {
      transport: transports,
    }),
    streamSendLatency: make.histogram(
      'stream_send_latency_seconds',
      'From when the log stored an event (on Kafka by the broker’s clock) until it was written to the socket, for live streams.',
      {},
      FAST,
    ),
    streamCloses: make.counter('stream_closes_total', 'Streams that ended, by close code.', {
      transport: transports,
      code: streamCloseCodes,
    }),
    streamSlowClients: make.gauge(
      'stream_slow_clients',
      'Streams whose client has not yet received all that was written.',
      {},
    ),
  }
}

/** The HTTP listeners. */
function httpMetrics(make: Instruments) {
  return {
    httpRefused: make.counter(
      'http_refused_total',
      'Requests and connections that the public listener refused because of too much traffic, by cause.',
      { cause: httpRefusalCauses },
    ),
    httpUnauthorised: make.counter(
      'http_unauthorised_total',
      'Requests to routes of the public listener that showed no token that counts (401), or were refused what they asked for (403).',
      { code: unauthorisedCodes },
    ),
    httpRequests: make.byRoute(
      {
        name: 'http_requests_total',
        help: 'Requests to the public listener that reached a route, by the class of their status; `none`: the client left before it.',
        labels: { code: httpCodeClasses },
      },
      {
        name: 'http_request_duration_seconds',
        help: 'From the head of a request until its response was handed over or the client left: a waiting pull and a stream last as long as their client stays.',
        buckets: REQUESTS,
      },
    ),
  }
}

/** Deliveries to webhook endpoints. */
function webhookMetrics(make: Instruments) {
  return {
    webhookAttempts: make.counter(
      'webhook_attempts_total',
      'Finished webhook delivery attempts, by outcome.',
      { outcome: attemptOutcomes },
    ),
    webhookAttemptDuration: make.tracedHistogram(
      'webhook_attempt_duration_seconds',
      'Duration of an attempt, from the DNS lookup to the last byte of the response.',
      ATTEMPTS,
    ),
    webhookDeliveryLatency: make.histogram(
      'webhook_delivery_latency_seconds',
      'From when the log stored an event (on Kafka by the broker’s clock) until the receiver accepted it, or from when the bridge fetched it where an earlier try failed; without replays.',
      {},
      DELIVERIES,
    ),
    webhookAttemptsUnderWay: make.gauge(
      'webhook_attempts_under_way',
      'Webhook delivery attempts under way on this node. Each takes one of its places, of which a tenant has a quarter.',
      {},
    ),
    webhookPending: make.gauge(
      'webhook_pending',
      'Deliveries in flight or waiting for a retry on this node; without events that an endpoint has not read yet.',
      {},
    ),
    webhookOldestPending: make.gauge(
      'webhook_oldest_pending_seconds',
      'Age of the oldest pending delivery of active endpoints, since the bridge fetched its item; 0 without any. Replays and endpoints that catch up make it large without a fault.',
      {},
    ),
    webhookDead: make.gauge(
      'webhook_dead',
      'Deliveries of this node that were given up and can be replayed; the last 10,000 of an endpoint.',
      {},
    ),
    webhookFailing: make.gauge(
      'webhook_failing_endpoints',
      'Active endpoints of this node whose last attempt failed.',
      {},
    ),
    webhookFailingLong: make.gauge(
      'webhook_failing_long_endpoints',
      'Active endpoints of this node whose attempts have failed for an hour, without a success between.',
      {},
    ),
    webhookShards: make.gauge(
      'webhook_shards',
      'Shards of the endpoints that this node holds; of them those that are stuck, because they could not be loaded or written for long.',
      { state: ['held', 'stuck'] },
    ),
    webhookJournalDropped: make.counter(
      'webhook_journal_dropped_total',
      'Attempts missing in the history because the journal could not store them; no delivery depends on it.',
      {},
    ),
    webhookDeadForgotten: make.counter(
      'webhook_dead_forgotten_total',
      'Dead webhook deliveries forgotten because their tenant had too many delivery rows. A replay by time or id still sends them.',
      {},
    ),
    webhookDisabled: make.counter(
      'webhook_disabled_total',
      'Webhook endpoints that the bridge disabled: `gone`, they answered 410; `failing`, for five days.',
      { reason: ['gone', 'failing'] },
    ),
    webhookEndpoints: make.knownGauges(
      'webhook_endpoints',
      'Webhook endpoints, by status; only on processes with the role `webhooks`, which know them.',
      { status: endpointStatuses },
    ),
  }
}
