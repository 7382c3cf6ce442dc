/**
 * Finds peers that are gone without a word: a ping every 25 s ± 20 %, whose pong must come within 10 s (contract §8).
 * Owns the two timers. Refuses to know frames; a client that is not read from at the moment is not judged: the stall
 * limit of its sink does that.
 */
import type { Chance, Clock } from '../lifecycle/clock.ts'

const PING_MS = 25_000
const SPREAD = 0.2
const PONG_MS = 10_000

export interface KeepAliveOptions {
  clock: Clock
  chance: Chance
  /** Sends a ping with this payload. */
  ping(payload: string): void
  /** Whether the client is not read from at the moment, so that its pong could not be seen. */
  isHeld(): boolean
  /** No pong came in time. */
  onDead(): void
}

export interface KeepAlive {
  /** Takes a pong; false when nobody waits for this payload. */
  onPong(payload: string): boolean
  stop(): void
}

/** Begins with a wait. */
export function keepAlive({ clock, chance, ping, isHeld, onDead }: KeepAliveOptions): KeepAlive {
  let cancel = (): void => {}
  let awaited: string | null = null
  let sent = 0
  const rest = (): void => {
    awaited = null
    cancel = clock.after(PING_MS * (1 - SPREAD + 2 * SPREAD * chance()), ask)
  }
  const ask = (): void => {
    if (isHeld()) return rest()
    sent += 1
    awaited = String(sent)
    ping(awaited)
    cancel = clock.after(PONG_MS, judge)
  }
  const judge = (): void => {
    if (isHeld()) cancel = clock.after(PONG_MS, judge)
    else onDead()
  }
  rest()
  return {
    onPong(payload) {
      if (payload !== awaited) return false
      cancel()
      rest()
      return true
    },
    stop: () => cancel(),
  }
}
