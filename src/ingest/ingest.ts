/**
 * Builds the role `poller` of a process: the poller and the tasks beside it for heartbeat, daily reports, exchange reference
 * data and fund requests.
 */
import { type PublishedDay, publishedDay } from '../archive/days.ts'
import type { Calendar } from '../core/calendar/calendar.ts'
import { createTokenBucket } from '../governor/quota/token-bucket.ts'
import { completenessOf, reconciliationBudget } from '../governor/schedule/daily-reconciliation.ts'
import { plannedPacing, withoutGateway } from '../governor/schedule/pacing.ts'
import { rescansOf } from '../governor/schedule/rescans.ts'
import { isOrder } from '../http/schemas/leader-order.ts'
import { type Chance, sleep } from '../lifecycle/clock.ts'
import { nodeId } from '../lifecycle/node-id.ts'
import type { Role } from '../lifecycle/supervisor.ts'
import type { Metrics } from '../obs/metrics.ts'
import type { Tracing } from '../obs/tracing.ts'
import type { PollingPauses } from '../registry/polling-pauses.ts'
import type { UpstreamSettings } from '../settings/settings.ts'
import { createUpstreamClient } from '../upstream/client.ts'
import { createFundClient } from '../upstream/fund-client.ts'
import { encodeReply, refused } from '../upstream/leader-reply.ts'
import { PAUSED } from '../upstream/paused-reply.ts'
import { createReferenceClient } from '../upstream/reference-client.ts'
import { createTransport } from '../upstream/transport.ts'
import { isReferenceTarget, ReferenceRequestHandler } from './exchanges/reference-request-handler.ts'
import { FundRequestHandler } from './funds/fund-request-handler.ts'
import { createHeartbeat } from './heartbeat.ts'
import { aheadMs, type OwnReport, reportOf } from './leader-report.ts'
import { type IngestConfig, isInformed } from './machine/state.ts'
import { answerOrder } from './order-request-handler.ts'
import { pausablePoller } from './pausable-poller.ts'
import { PollKeeper } from './poll-keeper.ts'
import { createObserver } from './poller/ingest-metrics.ts'
import { PollTracer } from './poller/poll-tracer.ts'
import { Poller, type PollerParts } from './poller/poller.ts'
import { answerQuota, isQuotaRequest } from './quota-request-handler.ts'
import { DayKeeper } from './reconciliation/day-keeper.ts'
import { reportsOf } from './reconciliation/day-report.ts'
import { upstreamStanding } from './upstream-standing.ts'

/** Longest duration of one request, first byte sent to last byte read. A page of 200 items is 300 KB. */
const REQUEST_TIMEOUT_MS = 10_000

/** Pause between two checks whether this process leads. */
const LEADER_CHECK_MS = 100

/** The reply to a fund request of another node, whose gateway is on, while that of this one is off. */
const FUNDS_OFF = refused(
  503,
  'the leading bridge does not pass fund requests on: its gateway is off',
  'Set BRIDGE_GATEWAY_WEEKLY_UNITS to the same value on every node.',
  null,
)

/** What the role is built from. */
export interface IngestParts
  extends Pick<PollerParts, 'log' | 'archive' | 'replicator' | 'clock' | 'logger'> {
  upstream: UpstreamSettings
  /** Gives the key of the next request; absent: that of `upstream`. */
  upstreamKey?: () => string
  /** Upstream's own word in the place of `native`. */
  native: { word: string }
  /** Units a week for fund requests; 0 = the fund gateway is off. */
  gatewayUnits: number
  /** How far back the very first start reads, ms. */
  backfillMs: number
  calendar: Calendar
  /** Absent: polling is never paused. */
  pauses?: Pick<PollingPauses, 'follow'>
  chance: Chance
  metrics: Metrics
  /** Null or absent where traces are off. */
  tracing?: Tracing | null
}

/** The poller role, and what it reports as the leader. */
export type Ingest = ReturnType<typeof createIngest>

/** Builds the role; nothing runs before its tasks do. */
export function createIngest(parts: IngestParts) {
  const { upstream, native, clock, logger, log, metrics, tracing = null } = parts
  const { gatewayUnits, pauses } = parts
  const { plan } = upstream
  const config = configOf(parts)
  const transport = createTransport({
    url: upstream.url,
    key: parts.upstreamKey ?? upstream.key,
    timeoutMs: REQUEST_TIMEOUT_MS,
    clock,
  })
  const client = createUpstreamClient({ transport, now: () => clock.now(), nativeWord: native.word })
  const bucket = createTokenBucket(plan)
  const metricsObserver = createObserver(metrics, config)
  const completeness = completenessOf(withoutGateway({ ...plan, gatewayUnits }))
  const reporter = { processId: nodeId(), config, completeness }
  const heartbeat =
    log.publishStatus === undefined
      ? null
      : createHeartbeat({ ...parts, ...reporter, publish: log.publishStatus })
  const polls = new PollKeeper({ log, config, clock, logger })
  const kept = polls.observing(heartbeat?.observing(metricsObserver) ?? metricsObserver)
  const observer = tracing === null ? kept : new PollTracer(tracing, clock).observing(kept)
  const poller = new Poller({ ...parts, client, bucket, config, observer })
  const beside = { poller, bucket, log, clock, logger }
  const references = new ReferenceRequestHandler({
    ...beside,
    client: createReferenceClient(transport),
    ratePerSecond: plan.ratePerSecond,
  })
  const funds =
    gatewayUnits === 0
      ? null
      : new FundRequestHandler({
          ...beside,
          client: createFundClient(transport, () => clock.now()),
          plan,
          weeklyUnits: gatewayUnits,
        })
  const quotaParts = { ...reporter, poller, plan, gatewayUnits, clock }
  /** Requests of the nodes for what only the leader knows, or reads from upstream. */
  const serve = (signal: AbortSignal): Promise<void> =>
    log.requests.serve(async (request, asked) => {
      if (isOrder(request)) return answerOrder({ ...reporter, poller, clock }, request, asked)
      if (isQuotaRequest(request)) return answerQuota(quotaParts, asked)
      if (poller.leaderSinceMs !== null && poller.state.pausedSinceMs !== null) return encodeReply(PAUSED)
      if (isReferenceTarget(request)) return references.answer(request, asked, signal)
      if (funds !== null) return funds.answer(request, asked, signal)
      // The gateway of the leader may be on: only the leader's own setting counts.
      while (poller.leaderSinceMs === null && !asked.aborted) await sleep(clock, LEADER_CHECK_MS, asked)
      return encodeReply(FUNDS_OFF)
    }, signal)
  const days = new DayKeeper({ log, poller, config, clock, logger })
  const tasks: Role[] = [
    {
      name: 'poller',
      run: pauses === undefined ? (signal) => poller.run(signal) : pausablePoller(poller, pauses),
    },
    ...(heartbeat === null ? [] : [{ name: 'status', run: heartbeat.run }]),
    { name: 'requests', run: serve },
    { name: 'days', run: (signal) => days.run(signal) },
    { name: 'polls', run: (signal) => polls.run(signal) },
  ]
  return {
    poller,
    /** The poller and everything that runs beside it; each runs until its signal aborts. */
    tasks,
    config,
    /** What this process knows as the leader; null while it does not lead, or has not read the writer's state yet. */
    report: (): OwnReport | null => {
      const { state, leaderSinceMs } = poller
      return isInformed(state, leaderSinceMs) ? reportOf(state, leaderSinceMs, reporter, clock.now()) : null
    },
    /** Of that report how far upstream's clock is ahead of ours, ms. */
    upstreamAheadMs: (): number | null => {
      const { state, leaderSinceMs } = poller
      return isInformed(state, leaderSinceMs) ? aheadMs(state) : null
    },
    /** The reports of the days, oldest first, today last; null as `report`. */
    days: (): readonly PublishedDay[] | null => {
      const { state, leaderSinceMs } = poller
      if (!isInformed(state, leaderSinceMs)) return null
      return reportsOf(state, config, clock.now()).map(publishedDay)
    },
    /** Whether upstream is in a bad state for this process. */
    upstreamStanding: () => upstreamStanding(poller.state, poller.leaderSinceMs),
    /** Closes the connections to upstream. */
    close: () => client.close(),
  }
}

/** The figures of the plan that the decisions of the poller depend on. */
function configOf({ upstream, gatewayUnits, calendar, backfillMs, log, chance }: IngestParts): IngestConfig {
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
    isShared: log.kind === 'kafka',
    chance,
  }
}
