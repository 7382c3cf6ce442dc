/**
 * Reads the log for the webhook endpoints of one shard, and gives each endpoint the events that match its filter.
 * Endpoints near the end of the log share one read, through an inverted index of their filters. An endpoint that is
 * behind reads for itself, batch by batch in turn with others, until it has caught up.
 */
import type { Reader } from '../../archive/reading/reader.ts'
import type { StoredEvent } from '../../archive/store/stored.ts'
import { FilterIndex } from '../../core/filter/filter-index.ts'
import { isOptedIn } from '../../core/filter/webhook-opt-in.ts'
import { type Clock, within } from '../../lifecycle/clock.ts'
import type { Logger } from '../../obs/logger.ts'
import type { EndpointMachine } from '../delivery-state/endpoint-machine.ts'
import type { DeliveryEndpoint } from '../delivery-state/endpoint-state.ts'
import type { DeliveryEvents } from '../send/delivery-events.ts'
import type { EndpointWorker } from './endpoint-worker.ts'
import type { RowBudget } from './row-budget.ts'

/** Endpoints that are at most so many events behind start in the shared read. */
const NEAR_END_EVENTS = 2000
/** Most events of one shared read. */
const SHARED_PAGE = 500
/** Most matching events of one read for one endpoint, and its time. */
const OWN_PAGE = 32
const OWN_BUDGET_MS = 50
/** Endpoints that catch up or replay read as one caller, and need the event loop for their deliveries. */
const OWN_READS = { caller: 'webhooks', isUrgent: true } as const
/** A waiting read looks so often whether the log has another epoch. */
const EPOCH_CHECK_MS = 30_000

/** What the reader of a shard needs. */
export interface ShardEventReaderOptions {
  reader: Reader
  events: DeliveryEvents
  /** The endpoints at the beginning. */
  workers: readonly EndpointWorker[]
  rowBudget: RowBudget
  clock: Clock
  logger: Logger
}

/** Reads for one shard in the reader's present epoch. */
export class ShardEventReader {
  readonly #reader: Reader
  readonly #events: DeliveryEvents
  readonly #rowBudget: RowBudget
  readonly #clock: Clock
  readonly #logger: Logger
  readonly #epoch: string | null
  /** Filters of the members of the shared read that have room. */
  readonly #index = new FilterIndex<EndpointWorker>()
  readonly #members = new Set<EndpointWorker>()
  /** Endpoints that read for themselves, in the order of their turns. */
  readonly #behind = new Set<EndpointWorker>()
  /** Up to where the shared read has come. */
  #position: number
  #wake = Promise.withResolvers<void>()

  constructor({ reader, events, workers, rowBudget, clock, logger }: ShardEventReaderOptions) {
    this.#reader = reader
    this.#rowBudget = rowBudget
    this.#events = events
    this.#clock = clock
    this.#logger = logger
    this.#epoch = reader.epoch
    this.#position = reader.latest
    for (const { machine } of workers) {
      const { base } = machine.cursors.live.progress
      if (base >= reader.latest - NEAR_END_EVENTS) this.#position = Math.min(this.#position, base)
    }
    for (const worker of workers) this.update(worker)
  }

  /** Adds an endpoint that is new, was changed, or has room again. */
  update(worker: EndpointWorker): void {
    const { machine, endpoint } = worker
    if (worker.stopped.aborted || endpoint.status !== 'active') return this.remove(worker)
    if (!worker.isJoined && machine.cursors.live.progress.readTo >= this.#position) {
      worker.isJoined = true
      this.#members.add(worker)
    }
    if (worker.isJoined) this.#index.add(worker, endpoint.filter)
    const canReplay = this.#replayRoom(worker) > 0 && this.#hasReplayEvents(machine)
    if ((!worker.isJoined && this.#room(worker) > 0) || canReplay) {
      this.#behind.add(worker)
      this.#wake.resolve()
    }
  }

  /** Reads nothing more for the endpoint. */
  remove(worker: EndpointWorker): void {
    this.#index.remove(worker)
    this.#members.delete(worker)
    this.#behind.delete(worker)
    worker.isJoined = false
  }

  /** Reads until the signal aborts or the log has another epoch. */
  async run(signal: AbortSignal): Promise<void> {
    const ended = new AbortController()
    const either = AbortSignal.any([signal, ended.signal])
    try {
      await Promise.race([this.#readShared(either), this.#readBehind(either)])
    } finally {
      ended.abort()
    }
  }

  /** How many new events the endpoint can be offered now. */
  #room({ machine, endpoint }: EndpointWorker): number {
    return this.#rowBudget.isFull(endpoint.tenant, machine.waiting) ? 0 : machine.room()
  }

  /** The same for replayed events. */
  #replayRoom({ machine, endpoint }: EndpointWorker): number {
    return this.#rowBudget.isFull(endpoint.tenant, machine.waiting) ? 0 : machine.replayRoom()
  }

  #isOver(signal: AbortSignal): boolean {
    return signal.aborted || this.#reader.epoch !== this.#epoch
  }

  async #readShared(signal: AbortSignal): Promise<void> {
    const reader = this.#reader
    while (!this.#isOver(signal)) {
      const read = await reader.read({ after: this.#position, filter: null, limit: SHARED_PAGE, signal })
      if (this.#isOver(signal)) return
      const touched = new Set<EndpointWorker>()
      for (const event of read.events) {
        // In a burst no member has room after a few events: the rest of the page need not be matched.
        if (this.#members.size === 0) break
        this.#share(event, touched)
      }
      this.#position = read.position
      for (const worker of this.#members) {
        worker.machine.passedTo(read.position)
        if (worker.machine.cursors.replay !== null) touched.add(worker)
      }
      for (const worker of touched) worker.schedule()
      if (!read.more) {
        await within(this.#clock, EPOCH_CHECK_MS, signal, (either) =>
          reader.waitBeyond(read.position, either),
        )
      }
    }
  }

  /** Offers the event to every member whose filter matches; a member without room leaves and reads for itself later. */
  #share(event: StoredEvent, touched: Set<EndpointWorker>): void {
    for (const worker of this.#index.match(event.facts)) {
      const { machine, endpoint } = worker
      if (!isOptedIn(endpoint.filter, event.facts)) continue
      if (event.sequence <= machine.cursors.live.progress.readTo) continue
      if (this.#room(worker) > 0) machine.offer(this.#events.of(event).matched, this.#clock.now())
      else {
        machine.passedTo(event.sequence - 1)
        this.remove(worker)
      }
      touched.add(worker)
    }
  }

  async #readBehind(signal: AbortSignal): Promise<void> {
    const onAbort = (): void => this.#wake.resolve()
    signal.addEventListener('abort', onAbort, { once: true })
    while (!this.#isOver(signal)) {
      const [worker] = this.#behind
      if (worker === undefined) {
        await this.#wake.promise
        this.#wake = Promise.withResolvers()
        continue
      }
      this.#behind.delete(worker)
      await this.#readOwn(worker, signal)
      await this.#readReplay(worker, signal)
      if (signal.aborted) break
      worker.schedule()
    }
    signal.removeEventListener('abort', onAbort)
  }

  /** Reads one page of new events for an endpoint that is behind. */
  async #readOwn(worker: EndpointWorker, signal: AbortSignal): Promise<void> {
    const { machine } = worker
    const { filter } = worker.endpoint
    const limit = Math.min(ownPage(worker.endpoint), this.#room(worker))
    if (worker.isJoined || limit < 1) return
    const after = machine.cursors.live.progress.readTo
    const read = await this.#reader.read({
      after,
      filter,
      limit,
      budgetMs: OWN_BUDGET_MS,
      signal,
      ...OWN_READS,
    })
    if (!this.#isStill(worker, filter, signal)) return
    this.#sayDropped(worker, after)
    for (const event of read.events) {
      if (isOptedIn(filter, event.facts)) machine.offer(this.#events.of(event).matched, this.#clock.now())
    }
    machine.passedTo(read.position)
  }

  /** Reads one page of the endpoint's replay. */
  async #readReplay(worker: EndpointWorker, signal: AbortSignal): Promise<void> {
    const { machine } = worker
    const { filter } = worker.endpoint
    const { replay } = machine.cursors
    const limit = Math.min(ownPage(worker.endpoint), this.#replayRoom(worker))
    if (replay === null || limit < 1 || !this.#hasReplayEvents(machine)) return
    const { progress, only } = replay
    const end = this.#replayEnd(machine)
    const next = only?.find((sequence) => sequence > progress.readTo)
    if (only !== null && (next === undefined || next > end)) return progress.passedTo(end)
    const after = next === undefined ? progress.readTo : next - 1
    const read = await this.#reader.read({
      after,
      filter: only === null ? filter : null,
      limit: only === null ? limit : 1,
      budgetMs: OWN_BUDGET_MS,
      signal,
      ...OWN_READS,
    })
    if (!this.#isStill(worker, filter, signal) || machine.cursors.replay?.id !== replay.id) return
    this.#sayDropped(worker, after)
    for (const event of read.events) {
      if (event.sequence > end) break
      const isRequested = next === undefined ? isOptedIn(filter, event.facts) : event.sequence === next
      if (isRequested) machine.offerReplayed(this.#events.of(event).matched)
    }
    progress.passedTo(Math.min(end, next ?? read.position))
  }

  /** Reports that the log has dropped events which this endpoint would have read next. */
  #sayDropped({ endpoint }: EndpointWorker, after: number): void {
    const sequence = this.#reader.oldest - 1
    if (sequence > after) this.#logger.warn('webhook.fell_behind', { endpointId: endpoint.id, sequence })
  }

  /** Up to where a replay is read: never beyond the cursor over new events, so no event is taken for both at a time. */
  #replayEnd({ cursors: { live, replay } }: EndpointMachine): number {
    return Math.min(replay?.until ?? 0, live.progress.readTo, this.#reader.latest)
  }

  #hasReplayEvents(machine: EndpointMachine): boolean {
    return (machine.cursors.replay?.progress.readTo ?? 0) < this.#replayEnd(machine)
  }

  /** Whether what was read is still wanted. */
  #isStill(worker: EndpointWorker, filter: DeliveryEndpoint['filter'], signal: AbortSignal): boolean {
    return !this.#isOver(signal) && !worker.stopped.aborted && worker.endpoint.filter === filter
  }
}

/** A whole batch is read at once. */
function ownPage({ maxBatch }: DeliveryEndpoint): number {
  return Math.max(OWN_PAGE, maxBatch ?? 0)
}
