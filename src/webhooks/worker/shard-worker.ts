/**
 * The work of one shard: its endpoints, each with its machine, from the rows that were left to the shard's loss or the stop.
 * Owns the course: load, pull, send, write, drain. Refuses to decide deliveries (the machines), to group writes (the
 * writer), to read the log (the pull), and to know where endpoints come from.
 */
import type { Reader } from '../../archive/reading/reader.ts'
import { backoffMs } from '../../core/backoff.ts'
import { isBridgeError } from '../../errors.ts'
import { sleep } from '../../lifecycle/clock.ts'
import type { Change, Shard } from '../../log/log.ts'
import type { Logger } from '../../obs/logger.ts'
import type { ReadCursor } from '../delivery-state/cursor-cache.ts'
import { type DeliveryRow, endpointOf, replayKey } from '../delivery-state/delivery-rows.ts'
import type { ReplayStart } from '../delivery-state/endpoint-cursors.ts'
import { loadEndpoint, rowsByEndpoint } from '../delivery-state/endpoint-load.ts'
import { createEndpointMachine } from '../delivery-state/endpoint-machine.ts'
import type {
  Batch,
  DeliveryEndpoint,
  DisableReason,
  MachineConfig,
  Start,
} from '../delivery-state/endpoint-state.ts'
import { attemptLimits } from '../send/attempt.ts'
import { type Attempted, type DeliveryMeans, tryDelivery } from '../send/delivery.ts'
import { createShardPull, type ShardPull, type Worked } from './event-reader.ts'
import { createShardWriter } from './shard-rows-writer.ts'
import type { Starter, StartQueue } from './start-queue.ts'
import { untilMore } from './wait-for-events.ts'

export interface ShardWorkerOptions extends DeliveryMeans {
  shard: Shard<DeliveryRow>
  reader: Reader
  /** Shared with the other shards of the process, as is `readCursor`. */
  starts: StartQueue
  readCursor: ReadCursor
  /** Disables an endpoint for good; `set` tells it then. May throw `log_unavailable`: it is asked again. */
  disable: (endpointId: string, reason: DisableReason) => Promise<void>
  /** Told of every attempt that had an end. */
  onAttempted: (attempted: Attempted) => void
  /** Time for a stop: three quarters of it for attempts that are under way, the rest for writing what came of them. */
  drainMs: number
  logger: Logger
}

/** How a shard stands. */
export interface ShardFigures {
  /** Deliveries that are known and not over; what an endpoint has not read yet is not among them. */
  pending: number
  /** When the oldest of them was first held, ms since 1970; null where there is none. */
  oldestMs: number | null
}

/** A replay that is asked for. */
export type ReplayWish = Omit<ReplayStart, 'ahead' | 'isWritten'>

export interface ShardWorker {
  /** An endpoint is new, or was changed. Takes effect at once, also before `run`. */
  set(endpoint: DeliveryEndpoint): void
  /** The endpoint was deleted: nothing is sent any more, and its rows go. */
  remove(endpointId: string): void
  /** Endpoints of which the shard has rows, or which were set. */
  endpointIds(): Set<string>
  /**
   * Works until the shard is lost, or the signal aborts or the shard is to go to another process, and what is under way has
   * ended. Rejects with a fault of ours.
   */
  run(signal: AbortSignal): Promise<void>
  /**
   * Begins a replay behind those of the endpoint that are there, of what follows `base` up to `until`; nothing where it has
   * this one. True when it is durable; false where the endpoint is not worked on here, or no longer.
   */
  replay(endpointId: string, wanted: ReplayWish): Promise<boolean>
  /** Ids of the endpoint's replays that are not over; null where it is not worked on here. */
  replays(endpointId: string): readonly string[] | null
  /** How many of its deliveries behind `after`, up to `until`, are dead; null as above. */
  countDead(endpointId: string, window: { after: number; until: number }): number | null
  figures(): ShardFigures
  /** Since when the present write is under way, its repetitions too, ms since 1970; null where none is. */
  readonly writingSinceMs: number | null
}

/** Longest wait for the log's epoch before a look at it, and before a body that was not here yet is asked for again. */
const LATER_MS = 1000
/** Positions that merely moved are written so often: what a new owner reads again is less than that. */
const FLUSH_MS = 600_000
/** Time for attempts that are under way when the shard goes to another process: each ends within its own limit. */
const HANDOVER_MS = attemptLimits.wholeMs + 500
/** Share of a stop's time for attempts that are under way. */
const ATTEMPTS_SHARE = 0.75
/** An endpoint that began nothing for so long gets the first of a burst before others get their second. */
const RESTED_MS = 10_000
const ASK_AGAIN = { baseMs: 1000, factor: 2, maxMs: 30_000, jitter: 0.2 }

interface Kept extends Worked, Starter {
  readonly stop: AbortController
  cancelWake: () => void
  /** When it last began a delivery, ms since 1970. */
  beganMs: number
  isDisabling: boolean
}

/** A worker of that shard; nothing is sent before `run`. */
export function createShardWorker(options: ShardWorkerOptions): ShardWorker {
  const { shard, reader, starts, readCursor, clock, chance, logger } = options
  const endpoints = new Map<string, DeliveryEndpoint>()
  const kept = new Map<string, Kept>()
  const rows = rowsByEndpoint(shard.rows)
  const marked = new Set<Kept>()
  const useless = new Set<string>()
  const removed = new Set<string>()
  /** Who waits for a row to be written, by its key. */
  const awaited = new Map<string, () => void>()
  const flying = new Set<Promise<void>>()
  const failed = Promise.withResolvers<never>()
  failed.promise.catch(() => undefined)
  let pull: ShardPull | null = null
  let isDraining = false
  let isFlushing = false

  const writer = createShardWriter({ shard, collect, onWritten, clock, chance, logger })
  // Not `AbortSignal.any` for each: every look at a signal made of others looks at all of them.
  const stopAll = (): void => {
    for (const { stop } of kept.values()) stop.abort()
  }
  shard.lost.addEventListener('abort', stopAll, { once: true })

  function collect(): Batch[] {
    const machines = isFlushing ? [...kept.values()] : [...marked]
    const batches = machines.flatMap((one) =>
      one.over.aborted ? [] : (settling(one, one.machine.take(options.events.cursorAt, isFlushing)) ?? []),
    )
    const gone = [...removed].flatMap((id) => [...(rows.get(id)?.keys() ?? [])])
    const deleted = [...useless, ...gone].map((key): Change<DeliveryRow> => ({ key, value: null }))
    marked.clear()
    useless.clear()
    removed.clear()
    isFlushing = false
    return deleted.length === 0 ? batches : [...batches, { changes: deleted, settled: () => undefined }]
  }

  function settling(one: Kept, batch: Batch | null): Batch | null {
    if (batch === null) return null
    const settled = (): void => {
      batch.settled()
      pump(one)
    }
    return { changes: batch.changes, settled }
  }

  function onWritten(changes: readonly Change<DeliveryRow>[]): void {
    for (const { key, value } of changes) {
      const id = endpointOf(key)
      awaited.get(key)?.()
      const own = rows.get(id) ?? new Map<string, DeliveryRow>()
      if (value === null) own.delete(key)
      else own.set(key, value)
      if (own.size === 0) rows.delete(id)
      else rows.set(id, own)
    }
  }

  /** Whatever may be done for the endpoint is begun, in its turn. */
  function pump(one: Kept): void {
    if (one.over.aborted) return
    one.cancelWake()
    if (!isDraining) starts.add(one)
    writeWhatIsOwed(one)
    const { disableReason } = one.machine
    if (disableReason !== null && !one.isDisabling) void attend(disable(one, disableReason))
  }

  /** Begins one delivery. Where there is none for now, sees to it that it is looked again when there may be. */
  function startNext(one: Kept): Promise<void> | null {
    if (one.over.aborted || isDraining) return null
    const { machine } = one
    const nowMs = clock.now()
    const start = machine.next(nowMs)
    const sending = start === null ? null : send(one, start)
    if (sending === null) {
      one.cancelWake()
      const wakeAtMs = machine.wakeAtMs()
      if (wakeAtMs !== null && wakeAtMs > nowMs)
        one.cancelWake = clock.after(wakeAtMs - nowMs, () => pump(one))
      pull?.look(one)
    }
    writeWhatIsOwed(one)
    return sending
  }

  function writeWhatIsOwed(one: Kept): void {
    if (!one.machine.owes()) return
    marked.add(one)
    writer.mark()
  }

  /** Waits for a piece of work at the end, and lets its fault end the whole. */
  function attend(work: Promise<void>): Promise<void> {
    flying.add(work)
    work.then(
      () => flying.delete(work),
      (error: unknown) => failed.reject(error),
    )
    return work
  }

  function send(one: Kept, start: Start): Promise<void> {
    const { sequence } = start.delivery
    one.beganMs = clock.now()
    const { endpoint } = one
    const work = async (): Promise<void> => {
      const tried = await tryDelivery(endpoint, start, options, one.over)
      if (one.over.aborted || tried.kind === 'aborted') return
      const nowMs = clock.now()
      if (tried.kind === 'later') one.machine.notSent(sequence, nowMs + LATER_MS)
      else if (tried.kind === 'dropped') one.machine.dropped(sequence, nowMs)
      else {
        const verdict = one.machine.ended(sequence, tried.end, { nowMs, chance: chance() })
        if (verdict !== null) options.onAttempted({ ...start, ...tried, endpoint, verdict })
      }
      pump(one)
    }
    return attend(work())
  }

  /** Asks until it is done, or somebody else has changed it. */
  async function disable(one: Kept, reason: DisableReason): Promise<void> {
    one.isDisabling = true
    const { id } = one.endpoint
    for (let attempt = 1; !one.over.aborted && one.machine.disableReason !== null && !isDraining; attempt++) {
      try {
        await options.disable(id, reason)
        logger.info('webhook.disabled', { endpointId: id, reason })
        break
      } catch (error) {
        if (!isBridgeError(error, 'log_unavailable')) throw error
        await sleep(clock, backoffMs(attempt, ASK_AGAIN, chance), one.over)
      }
    }
    one.isDisabling = false
  }

  function open(endpoint: DeliveryEndpoint): Kept {
    const own = rows.get(endpoint.id) ?? new Map<string, DeliveryRow>()
    const loaded = loadEndpoint(endpoint.start, own, { reader, nowMs: clock.now(), readCursor })
    for (const key of loaded.useless) useless.add(key)
    if (loaded.notice !== null)
      logger.warn(`webhook.${loaded.notice}`, { endpointId: endpoint.id, sequence: loaded.base })
    for (const replay of loaded.endedReplays) {
      logger.warn('webhook.replay_ended', { endpointId: endpoint.id, replay, reason: 'epoch_changed' })
    }
    const stop = new AbortController()
    if (shard.lost.aborted) stop.abort()
    const one: Kept = {
      endpoint,
      machine: createEndpointMachine(endpoint.id, loaded, configOf(endpoint)),
      over: stop.signal,
      startNext: () => startNext(one),
      hasRested: () => Math.abs(clock.now() - one.beganMs) >= RESTED_MS,
      beganMs: Number.NEGATIVE_INFINITY,
      isJoined: false,
      stop,
      cancelWake: () => undefined,
      isDisabling: false,
    }
    one.machine.configure(configOf(endpoint))
    kept.set(endpoint.id, one)
    return one
  }

  function close(one: Kept): void {
    one.stop.abort()
    one.cancelWake()
    pull?.leave(one)
    marked.delete(one)
    kept.delete(one.endpoint.id)
  }

  /** Reads and sends while the log has one epoch. */
  async function workOneEpoch(signal: AbortSignal): Promise<void> {
    await reader.copy.whole(signal)
    while (reader.epoch === null && !signal.aborted) await untilMore(options, reader.latest, LATER_MS, signal)
    if (signal.aborted) return
    const all = [...endpoints.values()].map(open)
    pull = createShardPull({
      reader,
      events: options.events,
      worked: all,
      clock,
      onOffered: (one) => pumped(one),
    })
    for (const one of all) pump(one)
    if (useless.size > 0) writer.mark()
    await pull.run(signal)
    pull = null
    if (!signal.aborted) for (const one of [...kept.values()]) close(one)
  }

  function pumped({ endpoint: { id } }: Worked): void {
    const one = kept.get(id)
    if (one !== undefined) pump(one)
  }

  async function flushAtTimes(signal: AbortSignal): Promise<void> {
    await sleep(clock, chance() * FLUSH_MS, signal)
    while (!signal.aborted) {
      isFlushing = true
      writer.mark()
      await sleep(clock, FLUSH_MS, signal)
    }
  }

  /** Nothing new is sent; what has no outcome when its time is over is repeated by the next owner. */
  async function drain(limitMs: number, cut: AbortSignal): Promise<void> {
    isDraining = true
    for (const one of kept.values()) one.cancelWake()
    await endsWithin(limitMs, Promise.allSettled(flying), cut)
  }

  async function endsWithin(limitMs: number, work: Promise<unknown>, cut: AbortSignal): Promise<void> {
    const enough = new AbortController()
    const either = AbortSignal.any([enough.signal, cut])
    await Promise.race([work, sleep(clock, Math.max(0, limitMs), either)])
    enough.abort()
  }

  return {
    set(endpoint) {
      endpoints.set(endpoint.id, endpoint)
      const one = kept.get(endpoint.id)
      if (one !== undefined) {
        one.endpoint = endpoint
        one.machine.configure(configOf(endpoint))
        pump(one)
      } else if (pull !== null && !isDraining) pump(open(endpoint))
    },
    remove(endpointId) {
      endpoints.delete(endpointId)
      const one = kept.get(endpointId)
      if (one !== undefined) close(one)
      removed.add(endpointId)
      writer.mark()
    },
    endpointIds: () => new Set([...rows.keys(), ...endpoints.keys()]),
    async run(signal) {
      const over = new AbortController()
      const either = AbortSignal.any([signal, shard.lost, shard.leaving, over.signal])
      const stopped = new AbortController()
      const writing = writer.run(stopped.signal)
      writing.catch(failed.reject)
      const course = async (): Promise<void> => {
        while (!either.aborted) await workOneEpoch(either)
        if (shard.lost.aborted || over.signal.aborted) return
        if (!signal.aborted) await drain(HANDOVER_MS, AbortSignal.any([signal, shard.lost]))
        const beganMs = clock.now()
        if (signal.aborted) await drain(options.drainMs * ATTEMPTS_SHARE, shard.lost)
        isFlushing = true
        stopped.abort()
        await endsWithin(beganMs + options.drainMs - clock.now(), writing, shard.lost)
      }
      try {
        await Promise.race([Promise.all([course(), flushAtTimes(either)]), failed.promise])
      } finally {
        over.abort()
        stopped.abort()
        for (const one of [...kept.values()]) close(one)
      }
    },
    async replay(endpointId, wanted) {
      const one = kept.get(endpointId)
      if (one === undefined || one.over.aborted || isDraining) return false
      if (one.machine.cursors.replayIds().includes(wanted.id)) return true
      const key = replayKey(endpointId, wanted.id)
      const written = Promise.withResolvers<boolean>()
      const onOver = (): void => written.resolve(false)
      awaited.set(key, () => written.resolve(true))
      one.over.addEventListener('abort', onOver, { once: true })
      one.machine.cursors.addReplay({ ...wanted, ahead: [], isWritten: false })
      pump(one)
      const isWritten = await written.promise
      awaited.delete(key)
      one.over.removeEventListener('abort', onOver)
      return isWritten
    },
    replays: (endpointId) => kept.get(endpointId)?.machine.cursors.replayIds() ?? null,
    countDead: (endpointId, { after, until }) =>
      kept.get(endpointId)?.machine.deadIn(after, until).length ?? null,
    figures() {
      let pending = 0
      let oldestMs: number | null = null
      for (const { machine } of kept.values()) {
        const own = machine.figures()
        pending += own.pending
        if (own.oldestMs !== null) oldestMs = Math.min(oldestMs ?? own.oldestMs, own.oldestMs)
      }
      return { pending, oldestMs }
    },
    get writingSinceMs() {
      return writer.writingSinceMs
    },
  }
}

function configOf({ maxConcurrency, rateLimit, order, status }: DeliveryEndpoint): MachineConfig {
  return { maxConcurrency, rateLimit, order, isActive: status === 'active' }
}
