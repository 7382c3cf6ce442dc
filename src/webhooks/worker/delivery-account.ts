/** Counts and logs every delivery attempt, and measures how many deliveries of this node are pending or dead. */
import { outcomeOf } from '../../core/attempt-end.ts'
import { HOUR_MS } from '../../core/durations.ts'
import type { Clock } from '../../lifecycle/clock.ts'
import type { Logger } from '../../obs/logger.ts'
import type { Metrics } from '../../obs/metrics.ts'
import { type Attempted, deliveriesOf } from '../send/delivery.ts'
import type { ShardFigures } from './shard-worker.ts'

/** Endpoints without a success for so long are counted on their own: several that fail in turn are not one that is broken. */
const LONG_MS = HOUR_MS

/** The metrics of deliveries. */
type DeliveryMetrics = Pick<
  Metrics,
  | 'webhookAttempts'
  | 'webhookAttemptDuration'
  | 'webhookDeliveryLatency'
  | 'webhookPending'
  | 'webhookOldestPending'
  | 'webhookDead'
  | 'webhookFailing'
  | 'webhookFailingLong'
>

/** Metrics and log of the deliveries of a process. */
export function createDeliveryAccount({
  clock,
  metrics,
  logger,
}: {
  clock: Clock
  metrics: DeliveryMetrics
  logger: Logger
}) {
  return {
    /** Counts and logs an attempt that ended. */
    attempted(attempted: Attempted): void {
      const { endpoint, webhookId, attempt, sort, end, report, verdict, trace = null } = attempted
      const deliveries = deliveriesOf(attempted)
      const outcome = outcomeOf(end)
      const { durationMs, phase, detail } = report
      metrics.webhookAttempts.add({ outcome })
      metrics.webhookAttemptDuration.observe(durationMs / 1000, trace)
      if (verdict.next === 'delivered' && sort !== 'replay') {
        for (const { recordedMs, committedMs = recordedMs } of deliveries) {
          metrics.webhookDeliveryLatency.observe({}, Math.max(0, clock.now() - committedMs) / 1000)
        }
      }
      logger[verdict.next === 'delivered' ? 'debug' : 'info']('webhook.attempt', {
        endpointId: endpoint.id,
        tenant: endpoint.tenant,
        sequence: attempted.delivery.sequence,
        ...(deliveries.length > 1 && { count: deliveries.length }),
        webhookId,
        attempt,
        outcome,
        status: end.kind === 'answered' ? end.status : null,
        result: verdict.next,
        retryAtMs: verdict.next === 'retry' ? clock.now() + verdict.delayMs : null,
        durationMs,
        phase,
        reason: detail,
      })
    },
    /** Sets the gauges of deliveries and failing endpoints from the shards of this node. */
    measure(shards: Iterable<ShardFigures>): void {
      let pending = 0
      let oldestMs = Number.POSITIVE_INFINITY
      let dead = 0
      const failingSinceMs: number[] = []
      for (const shard of shards) {
        pending += shard.pending
        dead += shard.dead
        failingSinceMs.push(...shard.failingSinceMs)
        oldestMs = Math.min(oldestMs, shard.oldestMs ?? Number.POSITIVE_INFINITY)
      }
      metrics.webhookPending.set({}, pending)
      metrics.webhookDead.set({}, dead)
      metrics.webhookFailing.set({}, failingSinceMs.length)
      const long = failingSinceMs.filter((sinceMs) => clock.now() - sinceMs >= LONG_MS)
      metrics.webhookFailingLong.set({}, long.length)
      const ageMs = oldestMs === Number.POSITIVE_INFINITY ? 0 : Math.max(0, clock.now() - oldestMs)
      metrics.webhookOldestPending.set({}, ageMs / 1000)
    },
  }
}
