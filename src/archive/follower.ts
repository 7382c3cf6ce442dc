/**
 * Brings what the log has committed into this node's copy and the tail. Owns the order: archive first, then tail, so
 * that what a reader sees is on disk here. Refuses to serve readers: `reader.ts` does.
 */
import type { Committed } from '../core/event.ts'
import type { Clock } from '../lifecycle/clock.ts'
import { yieldTurn } from '../lifecycle/clock.ts'
import type { Log } from '../log/log.ts'
import type { Archive } from './archive.ts'
import { eventsBetween } from './query.ts'
import type { Tail } from './tail.ts'

/** Events handled between two turns of the event loop. */
const SLICE = 250

/** How far this copy is behind what it has heard of. */
export interface Lag {
  events: number
  /** When it fell behind, on our clock, ms since 1970; null when it is not. */
  sinceMs: number | null
}

export interface Follower {
  readonly lag: Lag
  /**
   * Follows until the signal aborts, then resolves; call it once. Throws BridgeError when the copy cannot be written
   * (`log_unavailable`) or contradicts itself (`log_damaged`).
   */
  run(signal: AbortSignal): Promise<void>
  /** Resolves when readers see `sequence`, or the signal aborts. Never rejects. */
  caughtUp(sequence: number, signal: AbortSignal): Promise<void>
}

/**
 * `shared`: the archive is the log's own store (embedded), so only the tail is filled. Else the archive is a copy:
 * its last event is compared with the log's before anything is added, and any difference rebuilds it.
 */
export function createFollower(parts: {
  log: Log
  archive: Archive
  tail: Tail
  clock: Clock
  shared: boolean
}): Follower {
  const { log, archive, tail, clock, shared } = parts
  let heard = tail.latest
  let sinceMs: number | null = null

  const take = async (batch: readonly Committed[]): Promise<void> => {
    for (let start = 0; start < batch.length; start += SLICE) {
      if (start > 0) await yieldTurn()
      const slice = batch.slice(start, start + SLICE)
      if (!shared) archive.append(slice)
      tail.push(eventsBetween(archive, tail.latest, slice.at(-1)?.sequence ?? tail.latest))
    }
  }
  const followFrom = async (after: number, signal: AbortSignal): Promise<'ended' | 'differs'> => {
    let unchecked = after < archive.latest
    for await (const batch of log.follow(after, signal)) {
      heard = batch.at(-1)?.sequence ?? heard
      if (heard > tail.latest) sinceMs ??= clock.now()
      if (unchecked && !isLastOf(archive, batch[0])) return 'differs'
      await take(unchecked ? batch.slice(1) : batch)
      unchecked = false
      if (heard === tail.latest) sinceMs = null
    }
    return 'ended'
  }
  const follow = async (signal: AbortSignal): Promise<void> => {
    if (shared || archive.latest === 0) {
      await followFrom(tail.latest, signal)
    } else if ((await followFrom(archive.latest - 1, signal)) === 'differs') {
      archive.clear()
      tail.reset(0)
      await followFrom(0, signal)
    }
  }

  return {
    get lag() {
      return { events: Math.max(0, (shared ? archive.latest : heard) - tail.latest), sinceMs }
    },
    async run(signal) {
      const ended = new AbortController()
      const either = AbortSignal.any([signal, ended.signal])
      try {
        await Promise.all([warmTail(archive, tail, either), follow(either)])
      } finally {
        ended.abort()
      }
    },
    caughtUp: (sequence, signal) => tail.waitBeyond(sequence - 1, signal),
  }
}

function isLastOf(archive: Archive, event: Committed | undefined): boolean {
  const [last] = archive.committed(archive.latest - 1, 1)
  return event?.sequence === last?.sequence && event?.epoch === last?.epoch && event?.id === last?.id
}

/** Fills the tail backwards from what is on disk, a slice a turn: readers are served from the first moment. */
async function warmTail(archive: Archive, tail: Tail, signal: AbortSignal): Promise<void> {
  while (!signal.aborted && tail.first > archive.oldest) {
    const after = Math.max(archive.oldest - 1, tail.first - 1 - SLICE)
    if (!tail.warm(eventsBetween(archive, after, tail.first - 1))) return
    await yieldTurn()
  }
}
