/**
 * Brings what the log has committed into this node's copy and the tail. Owns the order: archive first, then tail, so
 * that what a reader sees is on disk here. Refuses to serve readers: `reader.ts` does.
 */
import type { Committed } from '../../core/event.ts'
import { BridgeError } from '../../errors.ts'
import { aborted } from '../../lifecycle/aborted.ts'
import type { Clock } from '../../lifecycle/clock.ts'
import { yieldTurn } from '../../lifecycle/clock.ts'
import type { Log, LogEnd } from '../../log/log.ts'
import type { Logger } from '../../obs/logger.ts'
import { eventsBetween } from '../reading/query.ts'
import type { Tail } from '../reading/recent-events.ts'
import type { Archive } from '../store/archive.ts'
import { type CopyState, createCopyProgress, WHOLE } from '../store/replica-progress.ts'

/** Events handled between two turns of the event loop. */
const SLICE = 250

/** How far this copy is behind what it has heard of. */
export interface Lag {
  events: number
  /** When it fell behind, or the log last answered where it does not; our clock, ms since 1970. null: it is not behind. */
  sinceMs: number | null
}

export interface Follower {
  readonly lag: Lag
  /** What readers are told of the copy. */
  readonly copy: CopyState
  /**
   * Follows until the signal aborts, then resolves; call it once. Throws BridgeError when the copy cannot be written
   * (`log_unavailable`) or contradicts itself (`log_damaged`).
   */
  run(signal: AbortSignal): Promise<void>
  /**
   * Resolves when readers see `sequence` of that epoch, or the signal aborts. Never before the copy was compared with
   * the log: what an old one holds of another epoch counts for nothing.
   * @throws BridgeError `log_damaged` when the log was started afresh under the running process
   */
  caughtUp(sequence: number, epoch: string, signal: AbortSignal): Promise<void>
}

/** What a follower is made of. */
export interface FollowerParts {
  log: Log
  archive: Archive
  tail: Tail
  clock: Clock
  logger: Logger
  /**
   * The archive is the log's own store (embedded), so only the tail is filled. Else it is a copy: it is compared with
   * the log before anything is added, and any difference rebuilds it.
   */
  shared: boolean
  /** Since when the log has not answered, our clock, ms since 1970; null while it does. */
  silentSinceMs: () => number | null
}

/** A follower that has not started. */
export function createFollower(parts: FollowerParts): Follower {
  const { log, archive, tail, clock, logger, shared } = parts
  const compared = Promise.withResolvers<void>()
  const progress = createCopyProgress(() => ({ oldest: archive.oldest, latest: tail.latest }))
  let heard = tail.latest
  let sinceMs: number | null = null

  const goal = (): number => (shared ? archive.latest : heard)
  const hear = (sequence: number): void => {
    heard = Math.max(heard, sequence)
    if (heard > tail.latest) sinceMs ??= clock.now()
  }
  const take = async (batch: readonly Committed[]): Promise<void> => {
    for (let start = 0; start < batch.length; start += SLICE) {
      if (start > 0) await yieldTurn()
      const slice = batch.slice(start, start + SLICE)
      const [first] = slice
      // The log begins later than its first event: the older ones were dropped by age.
      if (!shared && archive.latest === 0 && first !== undefined) tail.reset(first.sequence - 1)
      if (!shared) archive.append(slice)
      tail.push(eventsBetween(archive, tail.latest, slice.at(-1)?.sequence ?? tail.latest))
      progress.advanced()
    }
  }
  /** Ends with the signal, or where the log does not go on after what the copy holds. */
  const followFrom = async (after: number, signal: AbortSignal): Promise<'ended' | 'differs'> => {
    let unchecked = !shared && archive.latest > 0
    for await (const batch of log.follow(after, signal)) {
      hear(batch.at(-1)?.sequence ?? 0)
      const [first, ...rest] = batch
      if (first === undefined) continue
      const again = unchecked && isLastOf(archive, first)
      if (!shared && !again && !goesOn(archive, first)) return 'differs'
      await take(again ? rest : batch)
      unchecked = false
      if (heard === tail.latest) sinceMs = null
    }
    return 'ended'
  }
  const rebuild = (): void => {
    if (archive.latest > 0) logger.warn('copy.rebuilt', { epoch: archive.epoch, latest: archive.latest })
    archive.clear()
    tail.reset(0)
    progress.emptied(heard)
  }
  /** False when the signal aborted before. */
  const compare = async (signal: AbortSignal): Promise<boolean> => {
    const end = shared ? null : await endOf(log, signal)
    if (signal.aborted) return false
    if (end !== null) {
      const { epoch, sequence, allDropped } = end
      heard = 0
      if (archive.epoch !== epoch || archive.latest > sequence) rebuild()
      if (allDropped && archive.latest < sequence) {
        rebuild()
        // What is not kept anywhere is not waited for.
        tail.reset(sequence)
      }
      hear(sequence)
      progress.compared(sequence)
    }
    compared.resolve()
    return true
  }
  const follow = async (signal: AbortSignal): Promise<void> => {
    while (await compare(signal)) {
      const after = shared ? tail.latest : Math.max(0, archive.latest - 1)
      if ((await followFrom(after, signal)) === 'ended') return
      rebuild()
    }
  }

  return {
    get lag() {
      return { events: Math.max(0, goal() - tail.latest), sinceMs: sinceMs ?? parts.silentSinceMs() }
    },
    copy: shared ? WHOLE : progress,
    async run(signal) {
      const ended = new AbortController()
      const either = AbortSignal.any([signal, ended.signal])
      try {
        await Promise.all([warmTail(archive, tail, either), follow(either)])
      } finally {
        ended.abort()
      }
    },
    async caughtUp(sequence, epoch, signal) {
      await Promise.race([compared.promise, aborted(signal)])
      if (signal.aborted) return
      if (archive.epoch !== null && archive.epoch !== epoch) {
        throw new BridgeError('log_damaged', `the log has epoch ${epoch}, the copy here ${archive.epoch}`, {
          hint: 'The log was started afresh while this process ran. Start it again: it rebuilds its copy.',
        })
      }
      while (tail.latest < sequence && !signal.aborted) await tail.waitBeyond(sequence - 1, signal)
    },
  }
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

/** The copy's last event itself may have been dropped by age: then the log begins after it, in its epoch. */
function goesOn(archive: Archive, event: Committed): boolean {
  return archive.latest === 0 || (event.sequence === archive.latest + 1 && event.epoch === archive.epoch)
}

function isLastOf(archive: Archive, event: Committed): boolean {
  const [last] = archive.committed(archive.latest - 1, 1)
  return event.sequence === last?.sequence && event.epoch === last?.epoch && event.id === last?.id
}

/** Fills the tail backwards from what is on disk, a slice a turn: readers are served from the first moment. */
async function warmTail(archive: Archive, tail: Tail, signal: AbortSignal): Promise<void> {
  while (!signal.aborted && tail.first > archive.oldest) {
    const after = Math.max(archive.oldest - 1, tail.first - 1 - SLICE)
    if (!tail.warm(eventsBetween(archive, after, tail.first - 1))) return
    await yieldTurn()
  }
}
