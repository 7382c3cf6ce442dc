/**
 * Updates the poller's Prometheus metrics: requests, items, commits, leadership, open gaps, poll interval and quota. What only
 * the leader knows has a series only while this process leads.
 */
import { traceOfJourney } from '../../archive/journeys.ts'
import type { Committed, NewEvent } from '../../core/event.ts'
import { AMENDED, GAP_FILLED, GAP_OPENED, isGap } from '../../core/event.ts'
import type { Purpose } from '../../core/purpose.ts'
import { type Quota, quotaAt } from '../../governor/quota/ledger.ts'
import type { Cause } from '../../governor/quota/throttle-classifier.ts'
import { type Metrics, type PollResult, upstreamStates } from '../../obs/metrics.ts'
import type { TraceContext } from '../../obs/trace-context.ts'
import {
  type IngestConfig,
  type IngestState,
  isInformed,
  type PageOutcome,
  type QueuedCommit,
} from '../machine/state.ts'
import type { PollerCommit } from '../writer-state/poller-writer.ts'
import { createUnknownCommits } from './unknown-commits.ts'

/** Called by the poller for each thing that happens. Its methods never throw. */
export type Observer = ReturnType<typeof createObserver>

/** An observer that updates the metrics. */
export function createObserver(metrics: Metrics, config: IngestConfig) {
  let leaderSinceMs: number | null = null
  const unknown = createUnknownCommits()
  const { gapsOpen, pollInterval, pollLastSuccess } = metrics
  const { quotaLimit, quotaUsed, quotaRemaining, quotaReset, quotaForecast } = metrics
  const { quotaDrift, clockSkew, pollingPaused } = metrics
  const single = [gapsOpen, pollInterval, pollLastSuccess, quotaDrift, clockSkew, pollingPaused]
  const quotaGauges = [quotaLimit, quotaUsed, quotaRemaining, quotaReset, quotaForecast]

  const showState = (state: IngestState, nowMs: number): void => {
    gapsOpen.set(state.head.openGaps.length)
    pollInterval.set(state.plan.intervalMs / 1000)
    pollLastSuccess.set(state.lastGoodPollMs === null ? null : state.lastGoodPollMs / 1000)
    const quota = quotaAt(state.ledger, config.weeklyQuota, config.quotaReset, nowMs)
    quotaLimit.set(quota.limit)
    quotaUsed.set(quota.used)
    quotaRemaining.set(quota.remaining)
    quotaReset.set(quota.resetMs / 1000)
    quotaForecast.set(forecast(quota, state))
    quotaDrift.set(state.quotaDrift)
    pollingPaused.set(state.pausedSinceMs === null ? 0 : 1)
    clockSkew.set(state.lastGoodPollMs === null ? null : state.skewMs / 1000)
    for (const name of upstreamStates) {
      metrics.upstreamState.set({ state: name }, name === state.upstream ? 1 : 0)
    }
  }
  const hideState = (): void => {
    for (const gauge of [...single, ...quotaGauges]) gauge.set(null)
    for (const state of upstreamStates) metrics.upstreamState.set({ state }, null)
  }

  const count = ({ type, late, aheadof }: Pick<NewEvent, 'type' | 'late' | 'aheadof'>): void => {
    if (isGap(type)) {
      const state = type === GAP_OPENED ? 'opened' : type === GAP_FILLED ? 'filled' : 'given_up'
      return metrics.gaps.add({ state })
    }
    metrics.items.add({ disposition: type === AMENDED ? 'amended' : 'new' })
    if (late) metrics.items.add({ disposition: 'late' })
    if (aheadof !== undefined) metrics.itemsAhead.add({})
  }
  const countRejected = ({ rejected }: PollerCommit): void =>
    metrics.items.add({ disposition: 'rejected' }, rejected?.length ?? 0)
  const observeEvent = (event: Committed, purpose: Purpose, nowMs: number, skewMs: number): void => {
    count(event)
    if (isGap(event.type)) return
    const fetchedMs = Date.parse(event.recordedtime)
    const latencySeconds = (nowMs - fetchedMs) / 1000
    const trace = traceOfJourney(event.journey)
    metrics.publishLatency.observe(latencySeconds, trace)
    if (purpose === 'poll') metrics.pollPublishLatency.observe({}, latencySeconds)
    if (purpose !== 'backfill') {
      metrics.detectionLatency.observe(Math.max(0, fetchedMs + skewMs - event.timeMs) / 1000, trace)
    }
  }

  return {
    /** To which trace the request in flight belongs; null where it is not traced. */
    trace: (): TraceContext | null => null,
    /** A request ended; `cause` is the verdict on a 429, absent after any other outcome. */
    requestDone(purpose: Purpose, result: PollResult, cause?: Cause): void {
      metrics.pollRequests.add({ purpose, result })
      if (cause !== undefined) metrics.upstream429.add({ kind: cause })
    },
    /** An answer arrived; called before `requestDone`. */
    answered(answer: PageOutcome): void {
      if (answer.kind === 'ok') metrics.items.add({ disposition: 'duplicate' }, answer.value.duplicates)
    },
    /** A commit became durable. `skewMs`: upstream's clock minus ours. */
    committed(
      { purpose, commit }: QueuedCommit,
      events: readonly Committed[],
      { startMs, nowMs, skewMs }: { startMs: number; nowMs: number; skewMs: number },
    ): void {
      metrics.commits.add({ outcome: 'committed' })
      metrics.commitDuration.observe({}, (nowMs - startMs) / 1000)
      countRejected(commit)
      for (const event of events) observeEvent(event, purpose, nowMs, skewMs)
    },
    /** Another process has claimed the log: a commit, a unit or a claim of this one was refused. */
    fenced(): void {
      metrics.commits.add({ outcome: 'fenced' })
    },
    /** A commit failed: fenced by another writer, or with an unknown outcome. */
    commitBroke(code: 'unknown' | 'fenced', { commit }: QueuedCommit, durationMs: number): void {
      if (code === 'unknown') {
        metrics.commits.add({ outcome: code })
        unknown.add(commit)
      }
      metrics.commitDuration.observe({}, durationMs / 1000)
    },
    /** Since when this process leads, ms since 1970, our clock; null: it does not, or no longer. */
    leads(sinceMs: number | null): void {
      if ((sinceMs === null) !== (leaderSinceMs === null)) metrics.leaderTransitions.add({})
      leaderSinceMs = sinceMs
      metrics.leader.set({}, sinceMs === null ? 0 : 1)
      metrics.leaderSince.set(sinceMs === null ? null : sinceMs / 1000)
      if (sinceMs === null) hideState()
    },
    /** Called with the state after each step. */
    stateChanged(state: IngestState, nowMs: number): void {
      metrics.commitUnresolved.set({}, isUnresolved(state) ? 1 : 0)
      const resolved = unknown.resolvedBy(state)
      if (resolved !== null) metrics.commitsResolved.add({ outcome: resolved.outcome })
      if (resolved?.outcome === 'aborted') metrics.commits.add({ outcome: 'aborted' })
      if (resolved?.outcome === 'committed') {
        for (const event of resolved.commit.events) count(event)
        countRejected(resolved.commit)
      }
      if (isInformed(state, leaderSinceMs)) showState(state, nowMs)
      else hideState()
    },
  }
}

/** A write has failed, and the claim that reads what became of it has not succeeded yet. */
function isUnresolved({ name, brokenInARow }: IngestState): boolean {
  return name === 'claiming' && brokenInARow > 0
}

/** Polls planned until units come back, or those that a usual week makes at least, over the units left, or one where none is. */
export function forecast({ remaining }: Quota, { plan }: Pick<IngestState, 'plan'>): number {
  return Math.max(plan.pollsUntilReset, plan.wantedUntilReset) / Math.max(1, remaining)
}
