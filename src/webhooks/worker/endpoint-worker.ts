/**
 * Sends the deliveries of one endpoint: starts what its state machine chooses, returns each result to the machine, and
 * wakes up for the next one.
 */
import type { Reader } from '../../archive/reading/reader.ts'
import { type Backoff, backoffMs } from '../../core/backoff.ts'
import { isBridgeError } from '../../errors.ts'
import { sleep } from '../../lifecycle/clock.ts'
import type { Logger } from '../../obs/logger.ts'
import { replayKey } from '../delivery-state/delivery-rows.ts'
import type { ReplayStart } from '../delivery-state/endpoint-cursors.ts'
import { EndpointMachine } from '../delivery-state/endpoint-machine.ts'
import type {
  AttemptStart,
  Batch,
  DeliveryEndpoint,
  DisableReason,
  Loaded,
  MachineConfig,
} from '../delivery-state/endpoint-state.ts'
import type { DueNotice } from '../delivery-state/endpoint-trouble.ts'
import { isSent } from '../send/attempt.ts'
import { type Attempted, type DeliveryMeans, tryDelivery } from '../send/delivery.ts'
import type { Starter, StartQueue } from './start-queue.ts'

/** After which a body that was not available yet is read again. */
const RETRY_BODY_MS = 1000
/** An endpoint that started nothing for so long gets the first of a burst before others get their second. */
const IDLE_MS = 10_000
/** Between two tries to disable an endpoint, or to notify its owner, while the log is unavailable. */
const LOG_BACKOFF: Backoff = { baseMs: 1000, factor: 2, maxMs: 30_000, jitter: 0.2 }

/** What the workers of all endpoints of a process share. */
export interface EndpointWorkerOptions extends DeliveryMeans {
  reader: Reader
  starts: StartQueue
  /** Disables an endpoint, unless it was changed since. True where it did. May throw `log_unavailable`: it is called again. */
  disable: (endpoint: Pick<DeliveryEndpoint, 'id' | 'version'>, reason: DisableReason) => Promise<boolean>
  /** Notifies the tenant's other endpoints. May throw `log_unavailable`: it is called again. */
  notify: (endpointId: string, notice: DueNotice) => Promise<void>
  /** Called for every attempt that had an end. */
  onAttempted: (attempted: Attempted) => void
  logger: Logger
}

/** The shard that an endpoint worker belongs to. */
export interface EndpointHost {
  /** True while the shard stops: nothing new may be started. */
  readonly isDraining: boolean
  /** The endpoint has rows that must be written. */
  markPending(worker: EndpointWorker): void
  /** The endpoint may have room for more events. */
  wantsEvents(worker: EndpointWorker): void
  /** Adds a piece of work that the shard waits for at its end; the shard fails where it rejects. */
  track(work: Promise<void>): void
}

/** The worker of one endpoint, as long as its shard is owned and the log has one epoch. */
export class EndpointWorker implements Starter {
  endpoint: DeliveryEndpoint
  readonly machine: EndpointMachine
  /** True while the shared read of the shard supplies the endpoint with events. */
  isJoined = false
  readonly #options: EndpointWorkerOptions
  readonly #host: EndpointHost
  readonly #stop = new AbortController()
  /** Resolvers of those who wait until a row is durable, by its key. */
  readonly #awaitedRows = new Map<string, Set<() => void>>()
  /** What attempts leave under: another one once the endpoint is stopped, or is reached elsewhere. */
  #permit: object = {}
  #cancelWake = (): void => undefined
  /** When it last started a delivery, ms since 1970. */
  #startedMs = Number.NEGATIVE_INFINITY
  #isDisabling = false
  #isNotifying = false
  #cancelNotice = (): void => undefined

  constructor(
    endpoint: DeliveryEndpoint,
    loaded: Loaded,
    options: EndpointWorkerOptions,
    host: EndpointHost,
  ) {
    this.endpoint = endpoint
    this.#options = options
    this.#host = host
    this.machine = new EndpointMachine(endpoint.id, loaded, machineConfig(endpoint))
    this.machine.configure(machineConfig(endpoint))
  }

  get tenant(): string {
    return this.endpoint.tenant
  }

  /** Aborts when the endpoint is deleted, its shard is lost, or its work ends. */
  get stopped(): AbortSignal {
    return this.#stop.signal
  }

  /** Starts nothing more, cuts off what is in flight. */
  stop(): void {
    this.#stop.abort()
    this.#cancelWake()
    this.#cancelNotice()
  }

  /** Applies changed settings. */
  configure(endpoint: DeliveryEndpoint): void {
    if (endpoint.status !== 'active' || endpoint.url !== this.endpoint.url) this.#permit = {}
    this.endpoint = endpoint
    this.machine.configure(machineConfig(endpoint))
    this.schedule()
  }

  /** Queues the endpoint for starting deliveries, has pending rows written, and disables it where that is due. */
  schedule(): void {
    if (this.stopped.aborted) return
    this.#cancelWake()
    if (!this.#host.isDraining) this.#options.starts.add(this)
    this.#markPending()
    const { disableReason } = this.machine
    if (disableReason !== null && !this.#isDisabling) this.#host.track(this.#disable(disableReason))
    this.#scheduleNotice()
  }

  /** No timer starts anything any more. */
  cancelWake(): void {
    this.#cancelWake()
    this.#cancelNotice()
  }

  /** Starts one delivery. Where there is none now, sets the timer for when there may be one. */
  startNext(): Promise<void> | null {
    if (this.stopped.aborted || this.#host.isDraining) return null
    const { clock } = this.#options
    const nowMs = clock.now()
    const start = this.machine.next(nowMs)
    const sending = start === null ? null : this.#send(start)
    if (sending === null) {
      this.#cancelWake()
      const wakeAtMs = this.machine.wakeAtMs()
      if (wakeAtMs !== null && wakeAtMs > nowMs) {
        this.#cancelWake = clock.after(wakeAtMs - nowMs, () => this.schedule())
      }
      this.#host.wantsEvents(this)
    }
    this.#markPending()
    return sending
  }

  /** It started nothing for some time. */
  isIdle(): boolean {
    return Math.abs(this.#options.clock.now() - this.#startedMs) >= IDLE_MS
  }

  /** The rows to be written now; null where none are pending. `flush`: also positions that merely moved. */
  takeRows(flush: boolean): Batch | null {
    const { events } = this.#options
    const batch = this.machine.take((sequence) => events.cursorAt(sequence), flush)
    if (batch === null) return null
    return {
      changes: batch.changes,
      settled: () => {
        batch.settled()
        for (const { key } of batch.changes) for (const resolve of this.#awaitedRows.get(key) ?? []) resolve()
        this.schedule()
      },
    }
  }

  /**
   * Adds a replay, once, and makes those of its deliveries due that wait for a retry. True when its row is durable; false where
   * the worker stopped before.
   */
  async replay(wanted: Omit<ReplayStart, 'ahead' | 'isWritten'>): Promise<boolean> {
    if (this.stopped.aborted) return false
    const key = replayKey(this.endpoint.id, wanted.id)
    if (this.machine.cursors.replayIds().includes(wanted.id)) {
      // An earlier request may still wait for its row.
      return !this.#awaitedRows.has(key) || (await this.#written(key))
    }
    this.machine.hasten(wanted, this.#options.clock.now())
    this.machine.cursors.addReplay({ ...wanted, ahead: [], isWritten: false })
    return await this.#written(key)
  }

  /** Ends a replay. True when that is durable, also where there is none of this id; false as above. */
  async cancelReplay(id: string): Promise<boolean> {
    if (this.stopped.aborted) return false
    return !this.machine.cursors.cancel(id) || (await this.#written(replayKey(this.endpoint.id, id)))
  }

  /** Makes all deliveries due that wait for a retry. True when that is durable; false as above. */
  async hasten(): Promise<boolean> {
    if (this.stopped.aborted) return false
    const [key] = this.machine.hasten(null, this.#options.clock.now())
    if (key !== undefined) return await this.#written(key)
    this.schedule()
    return true
  }

  /** Waits until the pending row of that key is durable. True when it is; false where the worker stopped before. */
  async #written(key: string): Promise<boolean> {
    const written = Promise.withResolvers<boolean>()
    const onStop = (): void => written.resolve(false)
    const onWritten = (): void => written.resolve(true)
    const waiting = this.#awaitedRows.get(key) ?? new Set()
    this.#awaitedRows.set(key, waiting.add(onWritten))
    this.stopped.addEventListener('abort', onStop, { once: true })
    this.schedule()
    const isWritten = await written.promise
    waiting.delete(onWritten)
    if (waiting.size === 0) this.#awaitedRows.delete(key)
    this.stopped.removeEventListener('abort', onStop)
    return isWritten
  }

  #markPending(): void {
    if (this.machine.hasPendingRows()) this.#host.markPending(this)
  }

  #send(start: AttemptStart): Promise<void> {
    this.#startedMs = this.#options.clock.now()
    const work = this.#attempt(start)
    this.#host.track(work)
    return work
  }

  async #attempt(start: AttemptStart): Promise<void> {
    const { endpoint, machine, stopped } = this
    const { clock, chance, onAttempted } = this.#options
    const { sequence } = start.delivery
    const permit = this.#permit
    const limits = { signal: stopped, mayLeave: () => this.#permit === permit }
    const tried = await tryDelivery(endpoint, start, this.#options, limits)
    if (stopped.aborted) return
    const nowMs = clock.now()
    if (tried.kind === 'aborted') machine.sentOnly(sequence, 0, nowMs)
    else if (tried.kind === 'later') machine.sentOnly(sequence, 0, nowMs, RETRY_BODY_MS)
    else if (tried.kind === 'dropped') machine.dropped(sequence, tried.gone, nowMs)
    else {
      machine.sentOnly(sequence, tried.count, nowMs)
      const verdict = machine.ended(sequence, tried.end, {
        nowMs,
        chance: chance(),
        isSent: isSent(tried.report),
      })
      const others = (start.others ?? []).slice(0, tried.count - 1)
      if (verdict !== null) onAttempted({ ...start, ...tried, others, endpoint, verdict })
    }
    this.schedule()
  }

  /** Retries until the endpoint is disabled, or somebody else has changed it. */
  async #disable(reason: DisableReason): Promise<void> {
    const { disable, logger } = this.#options
    const isWanted = (): boolean => this.machine.disableReason !== null
    this.#isDisabling = true
    await this.#untilStored(isWanted, async () => {
      const { endpoint } = this
      if (await disable(endpoint, reason))
        logger.info('webhook.disabled', { endpointId: endpoint.id, reason })
    })
    this.#isDisabling = false
  }

  /** Has the owner notified of what is due, or sets the timer for when it is. */
  #scheduleNotice(): void {
    this.#cancelNotice()
    if (this.#isNotifying || this.#host.isDraining) return
    const { clock } = this.#options
    const { trouble } = this.machine
    const notice = trouble.due(clock.now())
    if (notice !== null) return this.#host.track(this.#notify(notice))
    const delayMs = trouble.dueInMs(clock.now())
    if (delayMs !== null) this.#cancelNotice = clock.after(delayMs, () => this.schedule())
  }

  async #notify(notice: DueNotice): Promise<void> {
    const { clock, notify } = this.#options
    const { id } = this.endpoint
    this.#isNotifying = true
    const isDone = await this.#untilStored(
      () => true,
      () => notify(id, notice),
    )
    this.#isNotifying = false
    if (!isDone) return
    this.machine.trouble.noticed(notice, clock.now())
    this.schedule()
  }

  /** Repeats the work while the log is unavailable and it is wanted. True when it is done. */
  async #untilStored(isWanted: () => boolean, work: () => Promise<void>): Promise<boolean> {
    const { clock, chance } = this.#options
    const goesOn = (): boolean => !this.stopped.aborted && !this.#host.isDraining && isWanted()
    for (let attempt = 1; goesOn(); attempt++) {
      try {
        await work()
        return true
      } catch (error) {
        if (!isBridgeError(error, 'log_unavailable')) throw error
        await sleep(clock, backoffMs(attempt, LOG_BACKOFF, chance), this.stopped)
      }
    }
    return false
  }
}

function machineConfig(endpoint: DeliveryEndpoint): MachineConfig {
  const { maxConcurrency, rateLimit, order, maxBatch, status, url, headers } = endpoint
  const target = JSON.stringify([url, headers])
  return { maxConcurrency, rateLimit, order, maxBatch, isActive: status === 'active', target }
}
