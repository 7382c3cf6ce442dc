/**
 * Builds the role `poller` of a process: the poller and the tasks beside it for heartbeat, daily reports, exchange reference
 * data and fund requests.
 */
import type { Calendar } from '../core/calendar/calendar.ts'
import { quotaAt } from '../governor/quota/ledger.ts'
import { createTokenBucket } from '../governor/quota/token-bucket.ts'
import { completenessOf, reconciliationBudget } from '../governor/schedule/daily-reconciliation.ts'
import { plannedPacing, withoutGateway } from '../governor/schedule/pacing.ts'
import { rescansOf } from '../governor/schedule/rescans.ts'
import type { Chance } from '../lifecycle/clock.ts'
import type { Role } from '../lifecycle/supervisor.ts'
import type { Metrics } from '../obs/metrics.ts'
import type { UpstreamSettings } from '../settings/settings.ts'
import { createUpstreamClient } from '../upstream/client.ts'
import { createFundClient } from '../upstream/fund-client.ts'
import { createReferenceClient } from '../upstream/reference-client.ts'
import { createTransport } from '../upstream/transport.ts'
import { createReferenceKeeper } from './exchanges/reference-keeper.ts'
import { FundRequestHandler } from './funds/fund-request-handler.ts'
import { createHeartbeat } from './heartbeat.ts'
import { gapOf } from './machine/publish.ts'
import { type IngestConfig, nextPollAtMs } from './machine/state.ts'
import { createObserver, forecast } from './poller/ingest-metrics.ts'
import { Poller, type PollerParts } from './poller/poller.ts'
import { DayKeeper } from './reconciliation/day-keeper.ts'

/** Longest duration of one request, first byte sent to last byte read. A page of 200 items is 300 KB. */
const REQUEST_TIMEOUT_MS = 10_000

/** What the role is built from. */
export interface IngestParts
  extends Pick<PollerParts, 'log' | 'archive' | 'replicator' | 'clock' | 'logger'> {
  upstream: UpstreamSettings
  /** Units a week for fund requests; 0 = the fund gateway is off. */
  gatewayUnits: number
  /** How far back the very first start reads, ms. */
  backfillMs: number
  calendar: Calendar
  chance: Chance
  metrics: Metrics
}

/** The poller role, and what the status page reads of it. */
export type Ingest = ReturnType<typeof createIngest>

/** Builds the role; nothing runs before its tasks do. */
export function createIngest(parts: IngestParts) {
  const { upstream, clock, chance, logger, log, metrics, gatewayUnits } = parts
  const { plan } = upstream
  const config = configOf(parts)
  const transport = createTransport({
    url: upstream.url,
    key: upstream.key,
    timeoutMs: REQUEST_TIMEOUT_MS,
    clock,
  })
  const client = createUpstreamClient(transport, () => clock.now())
  const bucket = createTokenBucket(plan)
  const metricsObserver = createObserver(metrics, config)
  const heartbeat =
    log.publishStatus === undefined ? null : createHeartbeat({ ...parts, publish: log.publishStatus, config })
  const observer = heartbeat?.observing(metricsObserver) ?? metricsObserver
  const poller = new Poller({ ...parts, client, bucket, config, observer })
  const beside = { poller, bucket, log, clock, logger }
  const references = createReferenceKeeper({
    ...beside,
    client: createReferenceClient(transport),
    ratePerSecond: plan.ratePerSecond,
    chance,
  })
  const days = new DayKeeper({ log, poller, config, clock, logger })
  const tasks: Role[] = [
    { name: 'poller', run: (signal) => poller.run(signal) },
    ...(heartbeat === null ? [] : [{ name: 'status', run: heartbeat.run }]),
    { name: 'references', run: references.run },
    { name: 'days', run: (signal) => days.run(signal) },
  ]
  if (gatewayUnits > 0) {
    const client = createFundClient(transport, () => clock.now())
    const { requests } = log
    const gateway = new FundRequestHandler({ ...beside, client, plan, weeklyUnits: gatewayUnits, requests })
    tasks.push({ name: 'gateway', run: (signal) => gateway.run(signal) })
  }
  return {
    poller,
    /** The poller and everything that runs beside it; each runs until its signal aborts. */
    tasks,
    config,
    completeness: completenessOf(withoutGateway({ ...plan, gatewayUnits })),
    /** How upstream treats this process, and when it was and will be polled; ms since 1970. */
    upstream: () => {
      const { state } = poller
      return { state: state.upstream, lastGoodPollMs: state.lastGoodPollMs, nextPollMs: nextPollAtMs(state) }
    },
    /** The quota at that moment; `forecast` = planned polls until units come back, over the units left. */
    quota: (nowMs: number) => {
      const { state } = poller
      const quota = quotaAt(state.ledger, config.weeklyQuota, config.quotaReset, nowMs)
      return { ...quota, forecast: forecast(quota, state), drift: state.quotaDrift }
    },
    /** Gaps that are still open, oldest first. */
    openGaps: () => poller.state.head.openGaps.map(gapOf),
    /** Upstream's present by its last good poll, else ours; ms since 1970. */
    upstreamNowMs: () => clock.now() + poller.state.skewMs,
    /** Closes the connections to upstream. */
    close: () => client.close(),
  }
}

/** The figures of the plan that the decisions of the poller depend on. */
function configOf({ upstream, gatewayUnits, calendar, backfillMs, chance }: IngestParts): IngestConfig {
  const { plan } = upstream
  const shared = { ...plan, gatewayUnits }
  const polled = withoutGateway(shared)
  return {
    pageSize: plan.pageSize,
    weeklyQuota: plan.weeklyQuota,
    quotaReset: plan.quotaReset,
    pacing: plannedPacing(shared, calendar),
    breathMs: (plan.burst / plan.ratePerSecond) * 1000,
    rounds: rescansOf(polled),
    dayWalks: reconciliationBudget(polled),
    backfillMs,
    calendar,
    chance,
  }
}
