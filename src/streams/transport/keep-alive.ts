/**
 * Finds peers that are gone without a word: a ping every 25 s ± 20 %, whose pong must come within 10 s (contract §8).
 * Refuses to know frames; a client that is not read from at the moment is not judged: the stall limit of its sink does that.
 */
import type { Chance } from '../../lifecycle/clock.ts'
import type { Due, Wheel } from '../limits/timer-wheel.ts'

const PING_MS = 25_000
const SPREAD = 0.2
const PONG_MS = 10_000

/** Whose peer may be gone. */
export interface Pinged {
  /** Whether it is not read from at the moment, so that its pong could not be seen. */
  readonly isHeld: boolean
  /** Sends a ping with this payload. */
  ping(payload: string): void
  /** No pong came in time. */
  onDead(): void
}

/** Of one peer. */
export class KeepAlive implements Due {
  /** The wheel's. */
  slot = -1
  readonly #wheel: Wheel
  readonly #chance: Chance
  readonly #peer: Pinged
  #sent = 0
  #isAwaited = false

  constructor(wheel: Wheel, chance: Chance, peer: Pinged) {
    this.#wheel = wheel
    this.#chance = chance
    this.#peer = peer
  }

  /** Begins with a wait. */
  start(): void {
    this.#rest()
  }

  /** Takes a pong; false when nobody waits for this payload. */
  onPong(payload: string): boolean {
    if (!this.#isAwaited || payload !== String(this.#sent)) return false
    this.#rest()
    return true
  }

  stop(): void {
    this.#wheel.clear(this)
  }

  onDue(): void {
    if (this.#peer.isHeld) return this.#isAwaited ? this.#wheel.set(this, PONG_MS) : this.#rest()
    if (this.#isAwaited) return this.#peer.onDead()
    this.#sent += 1
    this.#isAwaited = true
    this.#wheel.set(this, PONG_MS)
    this.#peer.ping(String(this.#sent))
  }

  #rest(): void {
    this.#isAwaited = false
    this.#wheel.set(this, PING_MS * (1 - SPREAD + 2 * SPREAD * this.#chance()))
  }
}
