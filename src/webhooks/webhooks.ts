/**
 * Runs the role `webhooks`: acquires shards (shares of the endpoints), runs a worker for each, and passes every
 * endpoint to its shard's worker.
 */
import { endpointStatuses } from '../core/endpoint-status.ts'
import { isBridgeError } from '../errors.ts'
import { aborted } from '../lifecycle/aborted.ts'
import { sleep } from '../lifecycle/clock.ts'
import type { Places } from '../lifecycle/places.ts'
import type { Log } from '../log/log.ts'
import type { Shard, Shards } from '../log/shards.ts'
import type { Metrics } from '../obs/metrics.ts'
import type { Endpoint, Endpoints } from '../registry/endpoints.ts'
import type { DeliveryRow } from './delivery-state/delivery-rows.ts'
import type { EndpointMachine } from './delivery-state/endpoint-machine.ts'
import type { DeliveryEndpoint, DeliveryStanding } from './delivery-state/endpoint-state.ts'
import type { SecretBox } from './endpoints/secrets.ts'
import { DeliveryEvents } from './send/delivery-events.ts'
import { attemptPlaces } from './worker/attempt-places.ts'
import { prepareEndpoint } from './worker/delivery-endpoint.ts'
import type { EndpointWorkerOptions } from './worker/endpoint-worker.ts'
import { RowBudget, type TenantRows } from './worker/row-budget.ts'
import { SHARD_COUNT, SHARDS, shardOf } from './worker/shard-of.ts'
import { type ShardFigures, ShardWorker } from './worker/shard-worker.ts'
import { StartQueue } from './worker/start-queue.ts'

/** A shard that could not be written or loaded for so long is stuck: its deliveries have stopped. */
const STUCK_MS = 4000
/** Between two checks whether a shard is stuck. */
const CHECK_MS = 1000
/** Between two searches for rows of deleted endpoints. */
const DELETED_ROWS_CHECK_MS = 30_000
/** Share of the process's drain time for deliveries; the shards are released in the rest. */
const DRAIN_SHARE = 0.8
/** So many attempts under way make more objects than the usual space for new ones takes well. Two usual endpoints have them. */
const MANY_ATTEMPTS = 16

/** What the role needs of the process. */
export interface WebhooksOptions extends Omit<EndpointWorkerOptions, 'events' | 'starts'> {
  log: Log
  /** Loaded and followed by the app. */
  endpoints: Endpoints
  secrets: SecretBox
  /** `BRIDGE_DRAIN_TIMEOUT`. */
  drainTimeoutMs: number
  /** Attempts that this process may have under way: each takes an open file. */
  mostAttempts: number
  /** Smaller in tests. */
  rowBudget?: RowBudget
  /** Measures the pending deliveries of the shards of this process. */
  measureShards: (shards: Iterable<ShardFigures>) => void
  metrics: Pick<
    Metrics,
    'webhookEndpoints' | 'webhookAttemptsUnderWay' | 'webhookDeadForgotten' | 'webhookShards'
  >
}

/** Shards that cannot be loaded or written. */
interface Stuck {
  state: 'loading' | 'writing'
  waitMs: number
  count?: number
  shard?: number
}

/** The role `webhooks` of a process; nothing is delivered before it runs. */
export class Webhooks {
  readonly #options: WebhooksOptions
  readonly #shards: Shards<DeliveryRow>
  readonly #events: DeliveryEvents
  readonly #places: Places
  readonly #starts: StartQueue
  readonly #rowBudget: RowBudget
  /** Endpoints with their secrets opened. */
  readonly #prepared = new WeakMap<Endpoint, DeliveryEndpoint>()
  /** Every endpoint there is, by shard. */
  readonly #known = Array.from({ length: SHARD_COUNT }, () => new Map<string, Endpoint>())
  /** The workers of this process, by shard. */
  readonly #workers = new Map<number, ShardWorker>()
  /** Resolves when there is a first endpoint. */
  readonly #needed = Promise.withResolvers<void>()

  constructor(options: WebhooksOptions) {
    this.#options = options
    this.#shards = options.log.shards<DeliveryRow>(SHARDS, SHARD_COUNT)
    this.#events = new DeliveryEvents(options.reader)
    this.#places = attemptPlaces(options.mostAttempts)
    this.#rowBudget = options.rowBudget ?? new RowBudget()
    this.#starts = new StartQueue(options.clock, this.#places)
  }

  /** The worker of the endpoint's shard, whether or not the endpoint exists; null where another process has the shard. */
  workerOf(endpointId: string): ShardWorker | null {
    return this.#workers.get(shardOf(endpointId)) ?? null
  }

  /** The state machine of the endpoint; null where this process does not work on it. */
  machineOf(endpointId: string): EndpointMachine | null {
    return this.workerOf(endpointId)?.machineOf(endpointId) ?? null
  }

  /** How the deliveries of the endpoints that this process works on stand, by shard and id. */
  standings(): Map<number, Map<string, DeliveryStanding>> {
    const standings = new Map<number, Map<string, DeliveryStanding>>()
    for (const [shard, worker] of this.#workers) {
      const own = worker.standings()
      // A shard without endpoints needs no report.
      if (own !== null && own.size > 0) standings.set(shard, own)
    }
    return standings
  }

  /** False while a shard is stuck; the log names it. A process that has no shard is well. */
  isWell(): boolean {
    return this.#stuck() === null
  }

  /** Whether many attempts are under way. */
  isDelivering(): boolean {
    return this.#places.taken >= MANY_ATTEMPTS
  }

  /** Sets the gauges: pending deliveries and endpoints by status. */
  measure(): void {
    const { endpoints, metrics, measureShards } = this.#options
    metrics.webhookAttemptsUnderWay.set({}, this.#places.taken)
    measureShards([...this.#workers.values()].map((worker) => worker.figures()))
    const counts = new Map<string, number>()
    for (const { status } of endpoints.all()) counts.set(status, (counts.get(status) ?? 0) + 1)
    const stuck = this.#stuck()
    metrics.webhookShards.set({ state: 'held' }, this.#workers.size)
    metrics.webhookShards.set({ state: 'stuck' }, stuck === null ? 0 : (stuck.count ?? 1))
    for (const status of endpointStatuses) metrics.webhookEndpoints.set({ status }, counts.get(status) ?? 0)
  }

  /** Delivers until the signal aborts and what was in flight has ended, or its time has. Rejects only with a fault of the program. */
  async run(signal: AbortSignal): Promise<void> {
    const over = new AbortController()
    const either = AbortSignal.any([signal, over.signal])
    const tasks = [this.#follow(either), this.#own(either), this.#sweep(either), this.#watch(either)]
    try {
      await Promise.all(tasks)
    } finally {
      over.abort()
      await Promise.allSettled(tasks)
    }
  }

  #prepare(found: Endpoint): DeliveryEndpoint {
    const before = this.#prepared.get(found)
    if (before !== undefined) return before
    const { secrets, clock, logger } = this.#options
    const { endpoint, fault } = prepareEndpoint(found, secrets, clock)
    if (fault !== null)
      logger.error('webhook.secret_unreadable', { endpointId: found.id, tenant: found.tenant, error: fault })
    this.#prepared.set(found, endpoint)
    return endpoint
  }

  /** Passes the present state of an endpoint to its shard's worker. */
  #update(id: string): void {
    const shard = shardOf(id)
    const before = this.#known[shard]?.get(id)
    const now = this.#options.endpoints.get(id)
    if (now === before) return
    if (now !== null) {
      this.#known[shard]?.set(id, now)
      this.#workers.get(shard)?.set(this.#prepare(now))
    } else if (before !== undefined) {
      this.#known[shard]?.delete(id)
      // Its rows are deleted only when it is certain that the endpoint was: `#sweep`.
      this.#workers.get(shard)?.set({ ...this.#prepare(before), status: 'paused' })
    }
  }

  async #follow(signal: AbortSignal): Promise<void> {
    for await (const ids of this.#options.endpoints.changes(signal)) {
      for (const id of ids) this.#update(id)
      if (this.#known.some(({ size }) => size > 0)) this.#needed.resolve()
    }
  }

  /** Acquires shards once an endpoint exists: until then nothing is due, and on Kafka shards would cost a consumer group. */
  async #own(signal: AbortSignal): Promise<void> {
    await Promise.race([this.#needed.promise, aborted(signal)])
    if (signal.aborted) return
    await this.#shards.own((shard) => this.#workOn(shard, signal), signal)
  }

  async #workOn(shard: Shard<DeliveryRow>, signal: AbortSignal): Promise<void> {
    const worker = new ShardWorker({
      ...this.#options,
      shard,
      events: this.#events,
      starts: this.#starts,
      rowBudget: this.#rowBudget,
      drainMs: this.#options.drainTimeoutMs * DRAIN_SHARE,
    })
    for (const endpoint of this.#known[shard.number]?.values() ?? []) worker.set(this.#prepare(endpoint))
    this.#workers.set(shard.number, worker)
    try {
      await worker.run(signal)
    } finally {
      if (this.#workers.get(shard.number) === worker) this.#workers.delete(shard.number)
    }
  }

  /** Deletes rows of deleted endpoints, also of those that were deleted while no process owned their shard. */
  async #sweep(signal: AbortSignal): Promise<void> {
    const { endpoints, clock, logger } = this.#options
    const isUnknown = (id: string): boolean => this.#known[shardOf(id)]?.has(id) !== true
    while (!signal.aborted) {
      await sleep(clock, DELETED_ROWS_CHECK_MS, signal)
      const unknown = [...this.#workers.values()].flatMap((worker) =>
        [...worker.endpointIds()].filter(isUnknown),
      )
      if (unknown.length === 0 || signal.aborted) continue
      try {
        for (const id of await endpoints.absent(unknown)) this.workerOf(id)?.remove(id)
      } catch (error) {
        if (!isBridgeError(error, 'log_unavailable')) throw error
        logger.warn('webhook.state_removal_delayed', { count: unknown.length, error })
      }
    }
  }

  #isStuck(sinceMs: number | null): sinceMs is number {
    return sinceMs !== null && this.#options.clock.now() - sinceMs >= STUCK_MS
  }

  /** The shards that are stuck now, for the log; null where none is. */
  #stuck(): Stuck | null {
    const { clock } = this.#options
    const { loadingSinceMs } = this.#shards
    if (this.#isStuck(loadingSinceMs)) return { state: 'loading', waitMs: clock.now() - loadingSinceMs }
    const found = [...this.#workers].filter(([, { writingSinceMs }]) => this.#isStuck(writingSinceMs))
    const [first] = found
    if (first === undefined) return null
    const [shard, { writingSinceMs }] = first
    return { state: 'writing', waitMs: clock.now() - (writingSinceMs ?? 0), count: found.length, shard }
  }

  /** Counts the rows of all tenants; forgets the oldest dead deliveries of those that have too many, and wakes those relieved. */
  #keepRowBudget(): void {
    const { logger, metrics } = this.#options
    const workers = [...this.#workers.values()].flatMap((shard) => [...shard.workers()])
    const tenants = new Map<string, TenantRows>()
    for (const { machine, tenant } of workers) {
      const { waiting, dead } = tenants.get(tenant) ?? { waiting: 0, dead: 0 }
      tenants.set(tenant, { waiting: waiting + machine.waiting, dead: dead + machine.dead.size })
    }
    const { forget, relieved } = this.#rowBudget.count(tenants)
    for (const [tenant, wanted] of forget) {
      const own = workers.filter((worker) => worker.tenant === tenant)
      const dead = own.flatMap(({ machine }) => machine.dead.in(0, Number.MAX_SAFE_INTEGER))
      const until = dead.sort((one, other) => one - other)[wanted - 1] ?? 0
      let count = 0
      for (const shard of this.#workers.values()) count += shard.forgetDead(tenant, until)
      metrics.webhookDeadForgotten.add({}, count)
      logger.warn('webhook.dead_forgotten', { tenant, count, sequence: until })
    }
    for (const worker of workers) if (relieved.includes(worker.tenant)) worker.schedule()
  }

  /** Logs when shards become stuck, and when none is stuck any more. */
  async #watch(signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#options
    let before: Stuck | null = null
    while (!signal.aborted) {
      await sleep(clock, CHECK_MS, signal)
      const now = this.#stuck()
      if (now !== null && before?.state !== now.state) logger.error('webhook.shards_stuck', { ...now })
      if (now === null && before !== null) logger.info('webhook.shards_recovered')
      before = now
      this.#keepRowBudget()
    }
  }
}
