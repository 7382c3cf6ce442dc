/**
 * The role `webhooks`: the shards that fall to this process, a worker for each, and every endpoint at its shard's worker.
 * Owns that workers know the endpoints as the registry has them, and what tells how the role stands. Refuses to deliver
 * (the workers do), to keep endpoints (the registry does), and to know who keeps a record of attempts.
 */
import type { Reader } from '../archive/reading/reader.ts'
import { endpointStatuses } from '../core/endpoint-status.ts'
import { isBridgeError } from '../errors.ts'
import { aborted } from '../lifecycle/aborted.ts'
import { type Chance, type Clock, sleep, yieldToEventLoop } from '../lifecycle/clock.ts'
import type { Log } from '../log/log.ts'
import type { Shard } from '../log/shards.ts'
import type { Logger } from '../obs/logger.ts'
import type { Metrics } from '../obs/metrics.ts'
import type { Endpoint, Endpoints } from '../registry/endpoints.ts'
import { createCursorDecodeCache } from './delivery-state/cursor-decode-cache.ts'
import type { DeliveryRow } from './delivery-state/delivery-rows.ts'
import type { DeliveryEndpoint, DisableReason } from './delivery-state/endpoint-state.ts'
import type { SecretBox } from './endpoints/secrets.ts'
import type { Attempt, Attempted } from './send/delivery.ts'
import { createDeliveryEvents } from './send/delivery-events.ts'
import { prepareEndpoint } from './worker/delivery-endpoint.ts'
import { SHARD_COUNT, SHARDS, shardOf } from './worker/shard-of.ts'
import { type ShardFigures, ShardWorker } from './worker/shard-worker.ts'
import { StartQueue } from './worker/start-queue.ts'

/** A shard that cannot write, or be loaded, for so long is stuck: its deliveries have stopped. With the look, told in five seconds. */
const STUCK_MS = 4000
/** Between two looks at whether one is. */
const LOOK_MS = 1000
/** Between two searches for rows of endpoints that are gone. */
const SWEEP_MS = 30_000
/** Endpoints whose secrets are opened between two turns of the event loop: under a millisecond. */
const PREPARED_AT_ONCE = 32
/** Share of the process's drain for deliveries: the shards are given up in what is left. */
const DRAIN_SHARE = 0.8

export interface WebhooksOptions {
  log: Log
  reader: Reader
  /** Followed by somebody else. */
  endpoints: Endpoints
  secrets: SecretBox
  attempt: Attempt
  /** `BRIDGE_DRAIN_TIMEOUT`. */
  drainTimeoutMs: number
  /** Disables an endpoint for good. May throw `log_unavailable`: it is asked again. */
  disable: (endpointId: string, reason: DisableReason) => Promise<void>
  /** Told of every attempt that had an end. */
  onAttempted: (attempted: Attempted) => void
  /** Told how the shards of this process stand, when that is asked for. */
  measureShards: (shards: Iterable<ShardFigures>) => void
  clock: Clock
  chance: Chance
  metrics: Pick<Metrics, 'webhookEndpoints'>
  logger: Logger
}

export interface Webhooks {
  /** Who works for the endpoint, whether or not there is such an endpoint; null where another process has its shard. */
  workerOf(endpointId: string): ShardWorker | null
  /** False while a shard is stuck; which, is in the log. A process that has no shard is well. */
  isWell(): boolean
  /** Sets what is measured now and then: what is pending, how many endpoints there are. */
  measure(): void
  /** Delivers until the signal aborts and what was under way has ended, or its time has. Rejects with a fault of ours. */
  run(signal: AbortSignal): Promise<void>
}

/** Nothing is delivered before it runs. */
export function createWebhooks(options: WebhooksOptions): Webhooks {
  const { log, reader, endpoints, secrets, clock, chance, metrics, logger } = options
  const events = createDeliveryEvents(reader)
  const starts = new StartQueue(clock)
  const readCursor = createCursorDecodeCache()
  /** As deliveries need them, with their secrets opened. */
  const prepared = new WeakMap<Endpoint, DeliveryEndpoint>()
  /** Every endpoint there is, by shard. */
  const known = Array.from({ length: SHARD_COUNT }, () => new Map<string, Endpoint>())
  /** By shard; those of this process. */
  const workers = new Map<number, ShardWorker>()
  const needed = Promise.withResolvers<void>()
  const shards = log.shards<DeliveryRow>(SHARDS, SHARD_COUNT)

  function prepare(found: Endpoint): DeliveryEndpoint {
    const before = prepared.get(found)
    if (before !== undefined) return before
    const { endpoint, fault } = prepareEndpoint(found, secrets, clock)
    if (fault !== null)
      logger.error('webhook.secret_unreadable', { endpointId: found.id, tenant: found.tenant, error: fault })
    prepared.set(found, endpoint)
    return endpoint
  }

  /** Opens secrets before a shard needs them: who takes over from another is to deliver at once. */
  async function prepareAhead(signal: AbortSignal): Promise<void> {
    await Promise.race([needed.promise, aborted(signal)])
    for (const endpoints of known) {
      for (const [count, found] of [...endpoints.values()].entries()) {
        if (count % PREPARED_AT_ONCE === 0) await yieldToEventLoop()
        if (signal.aborted) return
        prepare(found)
      }
    }
  }

  function take(id: string): void {
    const shard = shardOf(id)
    const before = known[shard]?.get(id)
    const now = endpoints.get(id)
    if (now === before) return
    if (now !== null) {
      known[shard]?.set(id, now)
      workers.get(shard)?.set(prepare(now))
    } else if (before !== undefined) {
      known[shard]?.delete(id)
      // Its rows go when it is certain that it was deleted: `sweep`.
      workers.get(shard)?.set({ ...prepare(before), status: 'paused' })
    }
  }

  async function follow(signal: AbortSignal): Promise<void> {
    for await (const ids of endpoints.changes(signal)) {
      for (const id of ids) take(id)
      if (known.some(({ size }) => size > 0)) needed.resolve()
    }
  }

  /** While there has been no endpoint there is nothing to deliver, and no shard is asked for: it would cost Kafka a group. */
  async function own(signal: AbortSignal): Promise<void> {
    await Promise.race([needed.promise, aborted(signal)])
    if (signal.aborted) return
    await shards.own((shard) => workOn(shard, signal), signal)
  }

  async function workOn(shard: Shard<DeliveryRow>, signal: AbortSignal): Promise<void> {
    const worker = new ShardWorker({
      shard,
      reader,
      events,
      starts,
      readCursor,
      attempt: options.attempt,
      disable: options.disable,
      onAttempted: options.onAttempted,
      drainMs: options.drainTimeoutMs * DRAIN_SHARE,
      clock,
      chance,
      logger,
    })
    for (const endpoint of known[shard.number]?.values() ?? []) worker.set(prepare(endpoint))
    workers.set(shard.number, worker)
    try {
      await worker.run(signal)
    } finally {
      if (workers.get(shard.number) === worker) workers.delete(shard.number)
    }
  }

  /** Removes rows of endpoints that were deleted, also while nobody had their shard. */
  async function sweep(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await sleep(clock, SWEEP_MS, signal)
      const strange = [...workers.values()].flatMap((worker) => [...worker.endpointIds()].filter(isStrange))
      if (strange.length === 0 || signal.aborted) continue
      try {
        for (const id of await endpoints.absent(strange)) workers.get(shardOf(id))?.remove(id)
      } catch (error) {
        if (!isBridgeError(error, 'log_unavailable')) throw error
        logger.warn('webhook.rows_left', { count: strange.length, error })
      }
    }
  }

  function isStrange(id: string): boolean {
    return known[shardOf(id)]?.has(id) !== true
  }

  function isStuck(sinceMs: number | null): sinceMs is number {
    return sinceMs !== null && clock.now() - sinceMs >= STUCK_MS
  }

  /** What is stuck now, for the log; null where nothing is. */
  function stuck(): { state: 'loading' | 'writing'; waitMs: number; count?: number; shard?: number } | null {
    const { loadingSinceMs } = shards
    if (isStuck(loadingSinceMs)) return { state: 'loading', waitMs: clock.now() - loadingSinceMs }
    const found = [...workers].filter(([, { writingSinceMs }]) => isStuck(writingSinceMs))
    const [first] = found
    if (first === undefined) return null
    const [shard, { writingSinceMs }] = first
    return { state: 'writing', waitMs: clock.now() - (writingSinceMs ?? 0), count: found.length, shard }
  }

  /** Says what is stuck when something begins to be, and when nothing is any more. */
  async function watch(signal: AbortSignal): Promise<void> {
    let before: ReturnType<typeof stuck> = null
    while (!signal.aborted) {
      await sleep(clock, LOOK_MS, signal)
      const now = stuck()
      if (now !== null && before?.state !== now.state) logger.error('webhook.shards_stuck', now)
      if (now === null && before !== null) logger.info('webhook.shards_well')
      before = now
    }
  }

  return {
    workerOf: (endpointId) => workers.get(shardOf(endpointId)) ?? null,
    isWell: () => stuck() === null,
    measure() {
      options.measureShards([...workers.values()].map((worker) => worker.figures()))
      const counts = new Map<string, number>()
      for (const { status } of endpoints.all()) counts.set(status, (counts.get(status) ?? 0) + 1)
      for (const status of endpointStatuses) metrics.webhookEndpoints.set({ status }, counts.get(status) ?? 0)
    },
    async run(signal) {
      const over = new AbortController()
      const either = AbortSignal.any([signal, over.signal])
      const parts = [follow, own, prepareAhead, sweep, watch].map((part) => part(either))
      try {
        await Promise.all(parts)
      } finally {
        over.abort()
        await Promise.allSettled(parts)
      }
    },
  }
}
