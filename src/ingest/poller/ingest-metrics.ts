/** Updates the poller's Prometheus metrics: requests, items, commits, leadership, open gaps, poll interval and quota. */
import type { Committed } from '../../core/event.ts'
import { AMENDED, GAP_FILLED, GAP_OPENED, isGap } from '../../core/event.ts'
import type { Purpose } from '../../core/purpose.ts'
import { type Quota, quotaAt } from '../../governor/quota/ledger.ts'
import type { Cause } from '../../governor/quota/throttle-classifier.ts'
import type { Metrics, PollResult } from '../../obs/metrics.ts'
import type { IngestConfig, IngestState, PageOutcome, QueuedCommit } from '../machine/state.ts'

/** Called by the poller for each thing that happens. Its methods never throw. */
export type Observer = ReturnType<typeof createObserver>

/** An observer that updates the metrics. */
export function createObserver(metrics: Metrics, config: IngestConfig) {
  let isLeader = false

  const observeEvent = (event: Committed, purpose: Purpose, nowMs: number, skewMs: number): void => {
    if (isGap(event.type)) {
      const state = event.type === GAP_OPENED ? 'opened' : event.type === GAP_FILLED ? 'filled' : 'given_up'
      return metrics.gaps.add({ state })
    }
    metrics.items.add({ disposition: event.type === AMENDED ? 'amended' : 'new' })
    if (event.late) metrics.items.add({ disposition: 'late' })
    const fetchedMs = Date.parse(event.recordedtime)
    metrics.publishLatency.observe({}, (nowMs - fetchedMs) / 1000)
    if (purpose !== 'backfill') {
      metrics.detectionLatency.observe({}, Math.max(0, fetchedMs + skewMs - event.timeMs) / 1000)
    }
  }

  return {
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
      metrics.items.add({ disposition: 'rejected' }, commit.rejected?.length ?? 0)
      for (const event of events) observeEvent(event, purpose, nowMs, skewMs)
    },
    /** A commit failed: fenced by another writer, or with an unknown outcome. */
    commitBroke(code: 'unknown' | 'fenced', durationMs: number): void {
      metrics.commits.add({ outcome: code })
      metrics.commitDuration.observe({}, durationMs / 1000)
    },
    /** This process became the leader, or stopped being it. */
    leads(leading: boolean): void {
      if (leading !== isLeader) metrics.leaderTransitions.add({})
      isLeader = leading
      metrics.leader.set({}, leading ? 1 : 0)
    },
    /** Called with the state after each step. */
    stateChanged(state: IngestState, nowMs: number): void {
      metrics.gapsOpen.set({}, state.head.openGaps.length)
      metrics.pollInterval.set({}, state.plan.intervalMs / 1000)
      metrics.pollLastSuccess.set({}, (state.lastGoodPollMs ?? 0) / 1000)
      const quota = quotaAt(state.ledger, config.weeklyQuota, config.quotaReset, nowMs)
      metrics.quotaLimit.set({}, quota.limit)
      metrics.quotaUsed.set({}, quota.used)
      metrics.quotaRemaining.set({}, quota.remaining)
      metrics.quotaReset.set({}, quota.resetMs / 1000)
      metrics.quotaForecast.set({}, forecast(quota, state))
    },
  }
}

/** Polls planned until units come back, over the units left; 0 where none are planned. */
export function forecast(quota: Quota, { plan }: Pick<IngestState, 'plan'>): number {
  return quota.remaining === 0 ? plan.pollsUntilReset : plan.pollsUntilReset / quota.remaining
}
