/**
 * Copies committed events from the log into this node's archive (SQLite), then into the memory buffer from which readers get
 * recent events. An archive that differs from the log is emptied and filled again. With the embedded log only the buffer is
 * filled, because the archive is the log itself.
 */
import { type Committed, isGap, itemOf } from '../../core/event.ts'
import { BridgeError } from '../../errors.ts'
import { aborted } from '../../lifecycle/aborted.ts'
import type { Clock } from '../../lifecycle/clock.ts'
import { yieldToEventLoop } from '../../lifecycle/clock.ts'
import { portionsOf } from '../../lifecycle/portions.ts'
import { inSlices, type Steps } from '../../lifecycle/slices.ts'
import type { LogEnd } from '../../log/events.ts'
import type { Log } from '../../log/log.ts'
import type { Logger } from '../../obs/logger.ts'
import { eventsBetween } from '../reading/query.ts'
import type { RecentEvents } from '../reading/recent-events.ts'
import type { Archive } from '../store/archive.ts'
import {
  COMPLETE_REPLICA,
  createReplicaProgress,
  type ReplicaProgress,
  type ReplicaState,
} from '../store/replica-progress.ts'
import { AppliedTimes } from './applied-times.ts'

/** Events handled before the event loop may run other work, and most characters of their items unless one has more. */
const SLICE_EVENTS = 250
const SLICE = { members: SLICE_EVENTS, size: 2 * 1024 * 1024 }

/** How far readers are behind the known end of the log. */
export interface Lag {
  /** The highest sequence that this process knows of. */
  end: number
  /** null while the log is silent, or nothing was heard of it yet. */
  events: number | null
  /** When the lag began, or the log last answered if it is silent; our clock, ms since 1970. null: no lag, or not known. */
  sinceMs: number | null
}

/** What a replicator works on. */
export interface ReplicatorParts {
  log: Log
  archive: Archive
  recentEvents: RecentEvents
  clock: Clock
  logger: Logger
  /**
   * Whether the archive is the log's own store (embedded log), so that only the recent-events buffer is filled. Otherwise
   * it is a replica: it is compared with the log before events are added, and any difference rebuilds it.
   */
  shared: boolean
  /** Since when the log has not answered, our clock, ms since 1970; null while it does. */
  silentSinceMs: () => number | null
}

/** Replicates one log into one archive. */
export class Replicator {
  /** Whether readers may use the archive. */
  readonly replica: ReplicaState
  /** When the newest events became visible to readers of this node. */
  readonly applied = new AppliedTimes()
  readonly #parts: ReplicatorParts
  readonly #progress: ReplicaProgress
  readonly #compared = Promise.withResolvers<void>()
  /** In a restored log: its epoch, to which the events up to `through` belong whatever epoch they were written with. */
  #restored: { epoch: string; through: number } | null = null
  /** The highest sequence that the log is known to hold. */
  #knownEnd: number
  /** When readers fell behind it; null while they are not. */
  #behindSinceMs: number | null = null

  constructor(parts: ReplicatorParts) {
    const { archive, recentEvents, shared } = parts
    this.#parts = parts
    this.#progress = createReplicaProgress(() => ({ oldest: archive.oldest, latest: recentEvents.latest }))
    this.#knownEnd = recentEvents.latest
    this.replica = shared ? COMPLETE_REPLICA : this.#progress
  }

  /** Whether the log has said since the start where it ends; always true where the archive is the log itself. */
  get hasHeard(): boolean {
    return this.replica.filling?.goal !== null
  }

  /** How long readers have been behind, or the log silent, ms; null where nothing was heard of the log yet. */
  get lagMs(): number | null {
    const { sinceMs } = this.lag
    if (sinceMs !== null) return this.#parts.clock.now() - sinceMs
    return this.hasHeard ? 0 : null
  }

  /** How far readers are behind. */
  get lag(): Lag {
    const { archive, recentEvents, shared, silentSinceMs } = this.#parts
    const end = Math.max(shared ? archive.latest : this.#knownEnd, recentEvents.latest)
    const silentMs = silentSinceMs()
    return {
      end,
      events: silentMs === null && this.hasHeard ? end - recentEvents.latest : null,
      sinceMs: this.#behindSinceMs ?? silentMs,
    }
  }

  /**
   * Replicates until the signal aborts, then resolves. Call it once.
   * @throws BridgeError `log_unavailable` when the archive cannot be written, `log_damaged` when it contradicts itself
   */
  async run(signal: AbortSignal): Promise<void> {
    const ended = new AbortController()
    const either = AbortSignal.any([signal, ended.signal])
    try {
      await Promise.all([this.#loadRecentEvents(either), this.#replicate(either)])
    } finally {
      ended.abort()
    }
  }

  /**
   * Resolves when readers see `sequence` of that epoch, or the signal aborts. Never before the replica was compared with
   * the log, because an old replica may hold that sequence of another epoch.
   * @throws BridgeError `log_damaged` when the log was started afresh under the running process
   */
  async caughtUp(sequence: number, epoch: string, signal: AbortSignal): Promise<void> {
    const { archive, recentEvents } = this.#parts
    await Promise.race([this.#compared.promise, aborted(signal)])
    if (signal.aborted) return
    if (archive.epoch !== null && archive.epoch !== epoch) {
      throw new BridgeError(
        'log_damaged',
        `the log has epoch ${epoch}, but this node's local replica holds epoch ${archive.epoch}`,
        {
          hint: 'The log was started afresh while this process ran. Restart the process: it rebuilds its replica.',
        },
      )
    }
    while (recentEvents.latest < sequence && !signal.aborted) {
      await recentEvents.waitBeyond(sequence - 1, signal)
    }
  }

  async #replicate(signal: AbortSignal): Promise<void> {
    const { archive, recentEvents, shared } = this.#parts
    while (await this.#compare(signal)) {
      const after = shared ? recentEvents.latest : Math.max(0, archive.latest - 1)
      if ((await this.#followFrom(after, signal)) === 'ended') return
      this.#rebuild()
    }
  }

  /** Compares the replica with the end of the log, and rebuilds it if it differs. False when the signal aborted before. */
  async #compare(signal: AbortSignal): Promise<boolean> {
    const { log, archive, recentEvents, shared } = this.#parts
    const end = shared ? null : await endOf(log, signal)
    if (signal.aborted) return false
    if (end !== null) {
      const { epoch, sequence, allDropped, earlier } = end
      this.#knownEnd = 0
      if (archive.epoch !== epoch || archive.latest > sequence) this.#rebuild()
      if (allDropped && archive.latest < sequence) {
        this.#rebuild()
        // No node keeps these events any more: do not wait for them.
        recentEvents.reset(sequence)
      }
      this.#restored = epoch === null || earlier === undefined ? null : { epoch, through: earlier.through }
      archive.setEarlierEpochs(earlier ?? null)
      this.#noteEnd(sequence)
      this.#progress.compared(sequence)
    }
    this.#compared.resolve()
    return true
  }

  /** Follows the log until the signal aborts, or until an event does not continue the replica. */
  async #followFrom(after: number, signal: AbortSignal): Promise<'ended' | 'differs'> {
    const { log, archive, recentEvents, shared } = this.#parts
    let isUnchecked = !shared && archive.latest > 0
    for await (const written of log.follow(after, signal)) {
      const batch = this.#restored === null ? written : written.map((event) => this.#inPresentEpoch(event))
      this.#noteEnd(batch.at(-1)?.sequence ?? 0)
      const [first, ...rest] = batch
      if (first === undefined) continue
      const isKnown = isUnchecked && isLastOf(archive, first)
      if (!shared && !isKnown && !continues(archive, first)) return 'differs'
      await this.#apply(isKnown ? rest : batch)
      isUnchecked = false
      if (this.#knownEnd === recentEvents.latest) this.#behindSinceMs = null
    }
    return 'ended'
  }

  #inPresentEpoch(event: Committed): Committed {
    const restored = this.#restored
    return restored === null || event.sequence > restored.through
      ? event
      : { ...event, epoch: restored.epoch }
  }

  /** Writes to the archive first: what readers see is on disk. */
  async #apply(batch: readonly Committed[]): Promise<void> {
    const { archive, recentEvents, shared, clock } = this.#parts
    for (const [index, slice] of portionsOf(batch, SLICE, ({ data }) => data.length).entries()) {
      if (index > 0) await yieldToEventLoop()
      const [first] = slice
      // The log begins after its first event when older ones are beyond retention.
      if (!shared && archive.latest === 0 && first !== undefined) recentEvents.reset(first.sequence - 1)
      if (!shared) archive.append(await inSlices(parsed(slice), () => clock.now()))
      const before = recentEvents.latest
      const last = slice.at(-1)?.sequence ?? before
      recentEvents.push(eventsBetween(archive, before, last))
      this.#noteApplied(before, last)
      this.#progress.advanced()
    }
  }

  /** While the replica is filled, nobody reads it: when its events became visible is not known. */
  #noteApplied(before: number, last: number): void {
    const { archive, clock } = this.#parts
    if (this.replica.filling !== null || archive.epoch === null || last === before) return
    this.applied.note(archive.epoch, before, [last, clock.now()])
  }

  #rebuild(): void {
    const { archive, recentEvents, logger } = this.#parts
    if (archive.latest > 0) logger.warn('replica.rebuilt', { epoch: archive.epoch, latest: archive.latest })
    archive.clear()
    recentEvents.reset(0)
    this.applied.clear()
    this.#progress.emptied(this.#knownEnd)
  }

  #noteEnd(sequence: number): void {
    const { recentEvents, clock } = this.#parts
    this.#knownEnd = Math.max(this.#knownEnd, sequence)
    if (this.#knownEnd > recentEvents.latest) this.#behindSinceMs ??= clock.now()
  }

  /** Loads stored events into the recent-events buffer, newest first, while readers already use it. */
  async #loadRecentEvents(signal: AbortSignal): Promise<void> {
    const { archive, recentEvents } = this.#parts
    while (!signal.aborted && recentEvents.first > archive.oldest) {
      const after = Math.max(archive.oldest - 1, recentEvents.first - 1 - SLICE_EVENTS)
      if (!recentEvents.prepend(eventsBetween(archive, after, recentEvents.first - 1))) return
      await yieldToEventLoop()
    }
  }
}

/** The events with their items parsed, which takes longer than to store them; what cannot be parsed is left to the archive. */
function* parsed(events: readonly Committed[]): Steps<Committed[]> {
  const all: Committed[] = []
  for (const event of events) {
    const read = isGap(event.type) ? null : itemOf(event)
    all.push(read?.ok ? { ...event, item: read.item } : event)
    yield
  }
  return all
}

/** null when the signal aborted before. */
async function endOf(log: Log, signal: AbortSignal): Promise<LogEnd | null> {
  try {
    return await log.end(signal)
  } catch (error) {
    if (signal.aborted) return null
    throw error
  }
}

/** The replica's last event itself may be beyond retention: then the log begins after it, in its epoch. */
function continues(archive: Archive, event: Committed): boolean {
  return archive.latest === 0 || (event.sequence === archive.latest + 1 && event.epoch === archive.epoch)
}

function isLastOf(archive: Archive, event: Committed): boolean {
  const [last] = archive.committed(archive.latest - 1, 1)
  return event.sequence === last?.sequence && event.epoch === last?.epoch && event.id === last?.id
}
