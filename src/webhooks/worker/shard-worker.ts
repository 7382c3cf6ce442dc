/**
 * Runs the deliveries of one shard (a share of the webhook endpoints) from its acquisition until the shard is lost or
 * the process stops. It loads the endpoints' state from stored rows, supplies them with events, writes their rows, and
 * drains at the end.
 */
import { aborted } from '../../lifecycle/aborted.ts'
import { sleep, within } from '../../lifecycle/clock.ts'
import type { Shard } from '../../log/shards.ts'
import type { Change } from '../../log/tables.ts'
import { type DeliveryRow, endpointIdOf } from '../delivery-state/delivery-rows.ts'
import type { ReplayStart } from '../delivery-state/endpoint-cursors.ts'
import { furthestSequence, loadEndpoint } from '../delivery-state/endpoint-load.ts'
import type { EndpointMachine } from '../delivery-state/endpoint-machine.ts'
import { EndpointRows, rowsByEndpoint } from '../delivery-state/endpoint-rows.ts'
import type { Batch, DeliveryEndpoint, DeliveryStanding } from '../delivery-state/endpoint-state.ts'
import { attemptLimits } from '../send/attempt.ts'
import { type EndpointHost, EndpointWorker, type EndpointWorkerOptions } from './endpoint-worker.ts'
import { ShardEventReader } from './event-reader.ts'
import type { RowBudget } from './row-budget.ts'
import { ShardRowsWriter } from './shard-rows-writer.ts'

/** What the worker of a shard needs. */
export interface ShardWorkerOptions extends EndpointWorkerOptions {
  shard: Shard<DeliveryRow>
  rowBudget: RowBudget
  /** Time for a stop: three quarters of it for attempts in flight, the rest for writing their outcomes. */
  drainMs: number
}

/** How many deliveries of a shard are pending. */
export interface ShardFigures {
  /** Deliveries known and not finished; events that an endpoint has not read yet are not counted. */
  pending: number
  /** When the oldest at an active endpoint was recorded, ms since 1970; null where none is. Others wait on purpose. */
  oldestMs: number | null
  /** Deliveries that were given up and are remembered. */
  dead: number
  /** Since when each endpoint has failed whose last attempt failed, ms since 1970. */
  failingSinceMs: readonly number[]
}

/** A replay that was requested. */
export type RequestedReplay = Omit<ReplayStart, 'ahead' | 'isWritten'>

/** Longest wait before the log's epoch is looked at again. */
const EPOCH_CHECK_MS = 1000
/** Between two writes of positions that merely moved: a new owner reads less than that again. */
const FLUSH_MS = 600_000
/** Time for attempts in flight when the shard goes to another process: each ends within its own limit. */
const HANDOVER_MS = attemptLimits.wholeMs + 500
/** Share of a stop's time for attempts in flight. */
const ATTEMPTS_SHARE = 0.75

/** The worker of one shard; nothing is sent before `run`. */
export class ShardWorker implements EndpointHost {
  readonly #options: ShardWorkerOptions
  readonly #shard: Shard<DeliveryRow>
  readonly #writer: ShardRowsWriter
  /** Every endpoint of the shard, by id. */
  readonly #endpoints = new Map<string, DeliveryEndpoint>()
  /** Of those, the ones that are worked on now. */
  readonly #workers = new Map<string, EndpointWorker>()
  /** The durable rows, by endpoint and key. */
  readonly #rows: Map<string, EndpointRows>
  /** Workers that have pending rows. */
  readonly #pending = new Set<EndpointWorker>()
  /** Keys of rows to delete. */
  readonly #useless = new Set<string>()
  /** Ids of deleted endpoints, whose rows are to be deleted. */
  readonly #removed = new Set<string>()
  /** Endpoints whose rows are ahead of this node's replica, with the sequence that it has to reach. */
  readonly #ahead = new Map<string, number>()
  #aheadChanged = Promise.withResolvers<void>()
  readonly #inFlight = new Set<Promise<void>>()
  readonly #failed = Promise.withResolvers<never>()
  #reader: ShardEventReader | null = null
  #isDraining = false
  #isFlushing = false

  constructor(options: ShardWorkerOptions) {
    const { shard } = options
    this.#options = options
    this.#shard = shard
    this.#rows = rowsByEndpoint(shard.rows)
    shard.rows.clear()
    this.#writer = new ShardRowsWriter({
      ...options,
      collect: () => this.#collect(),
      onWritten: (changes) => this.#written(changes),
    })
    this.#failed.promise.catch(() => undefined)
    // One listener for all: a signal of its own for each endpoint, made by `AbortSignal.any`, would be slow with many.
    shard.lost.addEventListener('abort', () => this.#stopWorkers(), { once: true })
  }

  /** True while the shard stops: nothing new may be started. */
  get isDraining(): boolean {
    return this.#isDraining
  }

  /** Since when the present write is under way, with its retries, ms since 1970; null where none is. */
  get writingSinceMs(): number | null {
    return this.#writer.writingSinceMs
  }

  /** Adds or changes an endpoint. Takes effect at once, also before `run`. */
  set(endpoint: DeliveryEndpoint): void {
    this.#endpoints.set(endpoint.id, endpoint)
    const worker = this.#workers.get(endpoint.id)
    if (worker !== undefined) worker.configure(endpoint)
    else if (this.#reader !== null && !this.#isDraining) this.#openOnceReached(endpoint)?.schedule()
  }

  /** The endpoint was deleted: nothing is sent to it any more, and its rows are deleted. */
  remove(endpointId: string): void {
    this.#endpoints.delete(endpointId)
    const worker = this.#workers.get(endpointId)
    if (worker !== undefined) this.#close(worker)
    this.#removed.add(endpointId)
    this.#writer.mark()
  }

  /** Ids of endpoints that have rows in the shard or were set. */
  endpointIds(): Set<string> {
    return new Set([...this.#rows.keys(), ...this.#endpoints.keys()])
  }

  /**
   * Works until the shard is lost, the signal aborts, or the shard is to go to another process, and what is in flight has
   * ended. Rejects only with a fault of the program or the log.
   */
  async run(signal: AbortSignal): Promise<void> {
    const { lost, releasing } = this.#shard
    const over = new AbortController()
    const either = AbortSignal.any([signal, lost, releasing, over.signal])
    const stopped = new AbortController()
    const writing = this.#writer.run(stopped.signal)
    writing.catch(this.#failed.reject)
    const work = async (): Promise<void> => {
      while (!either.aborted) await this.#workOneEpoch(either)
      if (!lost.aborted && !over.signal.aborted) await this.#finish(signal, stopped, writing)
    }
    try {
      await Promise.race([Promise.all([work(), this.#flushAtTimes(either)]), this.#failed.promise])
    } finally {
      over.abort()
      stopped.abort()
      for (const worker of [...this.#workers.values()]) this.#close(worker)
    }
  }

  /**
   * Adds a replay after the present ones of the endpoint; nothing where it has this one. True when it is durable; false where
   * the endpoint is not worked on here, or no longer.
   */
  async replay(endpointId: string, wanted: RequestedReplay): Promise<boolean> {
    const worker = this.#workers.get(endpointId)
    return worker === undefined || this.#isDraining ? false : await worker.replay(wanted)
  }

  /** Ends a replay of the endpoint. True when that is durable, also where there is none; false as above. */
  async cancelReplay(endpointId: string, id: string): Promise<boolean> {
    const worker = this.#workers.get(endpointId)
    return worker === undefined || this.#isDraining ? false : await worker.cancelReplay(id)
  }

  /** Makes all deliveries of the endpoint due that wait for a retry. True when that is durable; false as above. */
  async hasten(endpointId: string): Promise<boolean> {
    const worker = this.#workers.get(endpointId)
    return worker === undefined || this.#isDraining ? false : await worker.hasten()
  }

  /** Whether deliveries of the endpoint are started here. */
  isSending(endpointId: string): boolean {
    return this.#workers.get(endpointId)?.endpoint.status === 'active'
  }

  /** The state machine of the endpoint; null where it is not worked on here. */
  machineOf(endpointId: string): EndpointMachine | null {
    return this.#workers.get(endpointId)?.machine ?? null
  }

  /** The endpoints that are worked on now. */
  workers(): Iterable<EndpointWorker> {
    return this.#workers.values()
  }

  /** Forgets the dead deliveries of that tenant's endpoints up to a sequence. Returns how many. */
  forgetDead(tenant: string, until: number): number {
    let count = 0
    for (const worker of this.#workers.values()) {
      if (worker.tenant !== tenant) continue
      const keys = worker.machine.dead.forget(until)
      for (const key of keys) this.#useless.add(key)
      count += keys.length
      if (keys.length > 0) this.markPending(worker)
    }
    return count
  }

  /** The pending deliveries of all its endpoints. */
  figures(): ShardFigures {
    let pending = 0
    let oldestMs: number | null = null
    let dead = 0
    const failingSinceMs: number[] = []
    for (const { machine, endpoint } of this.#workers.values()) {
      const { pending: waiting, oldestMs: sinceMs } = machine.figures()
      pending += waiting
      dead += machine.dead.size
      if (machine.failingSinceMs !== null) failingSinceMs.push(machine.failingSinceMs)
      if (sinceMs !== null && endpoint.status === 'active') oldestMs = Math.min(oldestMs ?? sinceMs, sinceMs)
    }
    return { pending, oldestMs, dead, failingSinceMs }
  }

  /** How the deliveries of an endpoint stand; null where it is not worked on here. */
  standing(endpointId: string): DeliveryStanding | null {
    const { machine } = this.#workers.get(endpointId) ?? {}
    if (machine === undefined) return null
    const { readTo } = machine.cursors.live.progress
    const unreadAfter = readTo < this.#options.reader.latest ? readTo : null
    const { failingSinceMs, cursors } = machine
    const { size: dead, forgotten } = machine.dead
    return { ...machine.figures(), dead, forgotten, failingSinceMs, unreadAfter, ...cursors.standings() }
  }

  /** The same of all its endpoints, by id; null while some are not worked on yet, so the reports of the last owner hold. */
  standings(): Map<string, DeliveryStanding> | null {
    if (this.#workers.size < this.#endpoints.size) return null
    return new Map(
      [...this.#workers.keys()].flatMap((id) => {
        const own = this.standing(id)
        return own === null ? [] : [[id, own] as const]
      }),
    )
  }

  /** Has the rows of an endpoint written soon. */
  markPending(worker: EndpointWorker): void {
    this.#pending.add(worker)
    this.#writer.mark()
  }

  /** Has events read for the endpoint where it has room. */
  wantsEvents(worker: EndpointWorker): void {
    this.#reader?.update(worker)
  }

  /** Waits for the work at the end; where it rejects, `run` does. */
  track(work: Promise<void>): void {
    this.#inFlight.add(work)
    work.then(
      () => this.#inFlight.delete(work),
      (error: unknown) => this.#failed.reject(error),
    )
  }

  /** Reads and sends as long as the log keeps its epoch. */
  async #workOneEpoch(signal: AbortSignal): Promise<void> {
    const { reader, events, rowBudget, clock, logger } = this.#options
    await reader.replica.untilComplete(signal)
    while (reader.epoch === null && !signal.aborted) {
      await within(clock, EPOCH_CHECK_MS, signal, (either) => reader.waitBeyond(reader.latest, either))
    }
    if (signal.aborted) return
    const over = new AbortController()
    const either = AbortSignal.any([signal, over.signal])
    this.#ahead.clear()
    const workers = [...this.#endpoints.values()].flatMap((endpoint) => this.#openOnceReached(endpoint) ?? [])
    this.#reader = new ShardEventReader({ reader, events, workers, rowBudget, clock, logger })
    for (const worker of workers) worker.schedule()
    if (this.#useless.size > 0) this.#writer.mark()
    this.track(this.#openReached(either))
    await this.#reader.run(signal)
    over.abort()
    this.#reader = null
    if (!signal.aborted) for (const worker of [...this.#workers.values()]) this.#close(worker)
  }

  /** Drains, then writes what is pending. */
  async #finish(signal: AbortSignal, stopped: AbortController, writing: Promise<void>): Promise<void> {
    const { drainMs, clock } = this.#options
    const { lost } = this.#shard
    if (!signal.aborted) await this.#drain(HANDOVER_MS, AbortSignal.any([signal, lost]))
    const startedMs = clock.now()
    if (signal.aborted) await this.#drain(drainMs * ATTEMPTS_SHARE, lost)
    this.#isFlushing = true
    stopped.abort()
    await within(clock, startedMs + drainMs - clock.now(), lost, () => writing)
  }

  /** Starts nothing new and waits for attempts in flight; the next owner repeats those that do not end in time. */
  async #drain(limitMs: number, cut: AbortSignal): Promise<void> {
    this.#isDraining = true
    for (const worker of this.#workers.values()) worker.cancelWake()
    await within(this.#options.clock, limitMs, cut, () => Promise.allSettled(this.#inFlight))
  }

  async #flushAtTimes(signal: AbortSignal): Promise<void> {
    const { clock, chance } = this.#options
    await sleep(clock, chance() * FLUSH_MS, signal)
    while (!signal.aborted) {
      this.#isFlushing = true
      this.#writer.mark()
      await sleep(clock, FLUSH_MS, signal)
    }
  }

  /**
   * Opens an endpoint, or null while the replica is behind a position that another process has written: only then can its
   * rows be compared with the log.
   */
  #openOnceReached(endpoint: DeliveryEndpoint): EndpointWorker | null {
    const { reader } = this.#options
    const rows = this.#rows.get(endpoint.id) ?? []
    const furthest = reader.replica.isLog ? 0 : furthestSequence(endpoint.start, rows, reader.epoch)
    if (furthest <= reader.latest) return this.#open(endpoint)
    this.#ahead.set(endpoint.id, furthest)
    this.#aheadChanged.resolve()
    return null
  }

  /** Opens the endpoints ahead of the replica as the replica reaches them, until the signal aborts. */
  async #openReached(signal: AbortSignal): Promise<void> {
    const { reader } = this.#options
    while (!signal.aborted) {
      if (this.#ahead.size === 0) {
        this.#aheadChanged = Promise.withResolvers()
        await Promise.race([this.#aheadChanged.promise, aborted(signal)])
        continue
      }
      await reader.waitBeyond(Math.min(...this.#ahead.values()) - 1, signal)
      if (signal.aborted) return
      for (const [id, sequence] of [...this.#ahead]) {
        const endpoint = this.#endpoints.get(id)
        if (endpoint !== undefined && sequence > reader.latest) continue
        this.#ahead.delete(id)
        if (endpoint !== undefined && !this.#isDraining) this.#open(endpoint).schedule()
      }
    }
  }

  /** Makes the worker of an endpoint from its rows. */
  #open(endpoint: DeliveryEndpoint): EndpointWorker {
    const { reader, clock, logger } = this.#options
    const { id: endpointId, start } = endpoint
    const own = this.#rows.get(endpointId) ?? []
    const loaded = loadEndpoint(start, own, { reader, nowMs: clock.now() })
    for (const key of loaded.useless) this.#useless.add(key)
    const { base: sequence, warning, endedReplays } = loaded
    if (warning === 'epoch_changed') logger.warn('webhook.epoch_changed', { endpointId, sequence })
    if (warning === 'fell_behind') logger.warn('webhook.fell_behind', { endpointId, sequence })
    for (const replay of endedReplays) {
      logger.warn('webhook.replay_abandoned', { endpointId, replay, reason: 'epoch_changed' })
    }
    const worker = new EndpointWorker(endpoint, loaded, this.#options, this)
    if (this.#shard.lost.aborted) worker.stop()
    this.#workers.set(endpointId, worker)
    return worker
  }

  #close(worker: EndpointWorker): void {
    worker.stop()
    this.#reader?.remove(worker)
    this.#pending.delete(worker)
    this.#workers.delete(worker.endpoint.id)
  }

  #stopWorkers(): void {
    for (const worker of this.#workers.values()) worker.stop()
  }

  /** The rows to write now. */
  #collect(): Batch[] {
    const workers = this.#isFlushing ? [...this.#workers.values()] : [...this.#pending]
    const batches = workers.flatMap((worker) =>
      worker.stopped.aborted ? [] : (worker.takeRows(this.#isFlushing) ?? []),
    )
    const gone = [...this.#removed].flatMap((id) => this.#rows.get(id)?.keys() ?? [])
    const deleted = [...this.#useless, ...gone].map((key): Change<DeliveryRow> => ({ key, value: null }))
    this.#pending.clear()
    this.#useless.clear()
    this.#removed.clear()
    this.#isFlushing = false
    return deleted.length === 0 ? batches : [...batches, { changes: deleted, settled: () => undefined }]
  }

  /** Updates the in-memory copy of the durable rows. */
  #written(changes: readonly Change<DeliveryRow>[]): void {
    for (const { key, value } of changes) {
      const id = endpointIdOf(key)
      const own = this.#rows.get(id) ?? new EndpointRows(id)
      if (value === null) own.delete(key)
      else own.set(key, value)
      if (own.size === 0) this.#rows.delete(id)
      else this.#rows.set(id, own)
    }
  }
}
