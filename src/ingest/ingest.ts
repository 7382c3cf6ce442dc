/**
 * The poller role, put together from the settings. Owns which figures of the plan reach which part. Refuses to decide
 * anything at run time.
 */
import type { Calendar } from '../core/calendar/calendar.ts'
import { createTokenBucket } from '../governor/quota/token-bucket.ts'
import { type Completeness, completenessOf } from '../governor/schedule/completeness.ts'
import { dayWalksOf } from '../governor/schedule/daily-reconciliation.ts'
import { plannedPacing, withoutGateway } from '../governor/schedule/pacing.ts'
import { roundsOf } from '../governor/schedule/rescans.ts'
import type { Chance, Clock } from '../lifecycle/clock.ts'
import type { Log } from '../log/log.ts'
import type { Logger } from '../obs/logger.ts'
import type { Metrics } from '../obs/metrics.ts'
import type { UpstreamSettings } from '../settings/settings.ts'
import { createUpstreamClient } from '../upstream/client.ts'
import { createFundClient } from '../upstream/fund-client.ts'
import { createReferenceClient } from '../upstream/reference-client.ts'
import { createTransport } from '../upstream/transport.ts'
import { createReferenceKeeper } from './exchanges/reference-keeper.ts'
import { createGateway } from './funds/fund-gateway.ts'
import { createAnnouncer } from './heartbeat.ts'
import type { IngestConfig } from './machine/state.ts'
import { createObserver, forecast } from './poller/ingest-metrics.ts'
import type { Copy, Poller } from './poller/poller.ts'
import { createPoller } from './poller/poller.ts'
import { createDayKeeper } from './reconciliation/day-keeper.ts'

/** One request may take so long, first byte sent to last byte read. A page of 200 items is 300 KB. */
const REQUEST_TIMEOUT_MS = 10_000

/** What the role is built from. */
export interface IngestParts {
  upstream: UpstreamSettings
  /** Units a week for fund requests; 0 = none are passed through. */
  gatewayUnits: number
  backfillMs: number
  calendar: Calendar
  log: Log
  copy: Copy
  clock: Clock
  chance: Chance
  logger: Logger
  metrics: Metrics
}

/** The poller and what goes on beside it, with what the status page asks of it. */
export interface Ingest {
  readonly poller: Poller
  /** Keeps the exchange references while this process leads; runs beside the poller. */
  readonly references: { run(signal: AbortSignal): Promise<void> }
  /** Tells readers of the log how the poller does; null where nobody reads it from outside. Runs beside the poller. */
  readonly announcer: { run(signal: AbortSignal): Promise<void> } | null
  /** Keeps the days' reports while this process leads; runs beside the poller. */
  readonly days: { run(signal: AbortSignal): Promise<void> }
  /** Passes fund requests through; null where it is off. Runs beside the poller. */
  readonly gateway: { run(signal: AbortSignal): Promise<void> } | null
  readonly config: IngestConfig
  readonly completeness: Completeness
  /** Upstream's present moment as far as its last answer tells, else ours; ms since 1970. */
  upstreamNowMs(): number
  /** Planned polls until units come back, over the units left. */
  forecast: typeof forecast
  /** Closes the connections to upstream. */
  close(): Promise<void>
}

/** Builds both; `poller.run` and `references.run` start them. */
export function createIngest(parts: IngestParts): Ingest {
  const { upstream, clock, chance, metrics, gatewayUnits } = parts
  const { plan } = upstream
  const shared = { ...plan, gatewayUnits }
  const polled = withoutGateway(shared)
  const completeness = completenessOf(polled)
  const config: IngestConfig = {
    pageSize: plan.pageSize,
    weeklyQuota: plan.weeklyQuota,
    quotaReset: plan.quotaReset,
    pacing: plannedPacing(shared, parts.calendar),
    breathMs: (plan.burst / plan.ratePerSecond) * 1000,
    rounds: roundsOf(polled),
    dayWalks: dayWalksOf(polled),
    backfillMs: parts.backfillMs,
    calendar: parts.calendar,
    chance,
  }
  const transport = createTransport({
    url: upstream.url,
    key: upstream.key,
    timeoutMs: REQUEST_TIMEOUT_MS,
    clock,
  })
  const client = createUpstreamClient(transport, () => clock.now())
  const bucket = createTokenBucket(plan)
  const observer = createObserver(metrics, config)
  const announcer =
    parts.log.announce === undefined
      ? null
      : createAnnouncer({
          announce: parts.log.announce,
          calendar: parts.calendar,
          config,
          clock,
          logger: parts.logger,
        })
  const poller = createPoller({
    log: parts.log,
    copy: parts.copy,
    client,
    bucket,
    config,
    clock,
    logger: parts.logger,
    observer: announcer?.watching(observer) ?? observer,
  })
  const references = createReferenceKeeper({
    client: createReferenceClient(transport),
    poller,
    bucket,
    ratePerSecond: plan.ratePerSecond,
    log: parts.log,
    clock,
    chance,
    logger: parts.logger,
  })
  const days = createDayKeeper({ log: parts.log, poller, config, clock, logger: parts.logger })
  const gateway =
    gatewayUnits === 0
      ? null
      : createGateway({
          poller,
          client: createFundClient(transport, () => clock.now()),
          bucket,
          plan,
          weeklyUnits: gatewayUnits,
          questions: parts.log.questions,
          clock,
          logger: parts.logger,
        })
  return {
    poller,
    references,
    days,
    gateway,
    announcer,
    config,
    completeness,
    upstreamNowMs: () => clock.now() + observer.skewMs,
    forecast,
    close: () => client.close(),
  }
}
