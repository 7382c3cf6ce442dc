/**
 * Detects dead WebSocket peers: sends a ping every 25 s ± 20 % and expects its pong within 10 s. While
 * the server has paused reading from a peer, the peer is not checked; the stall time-out of its socket writer covers
 * that case.
 */
import type { Chance } from '../../lifecycle/clock.ts'
import type { TimerEntry, TimerWheel } from '../limits/timer-wheel.ts'

const PING_MS = 25_000
const SPREAD = 0.2
const PONG_MS = 10_000

/** The connection that is checked. */
export interface KeepAlivePeer {
  /** Whether it is not being read from, so that its pong could not be seen. */
  readonly isReadPaused: boolean
  /** Sends a ping with this payload. */
  ping(payload: string): void
  /** No pong came in time. */
  onDead(): void
}

/** The pings of one peer. */
export class KeepAlive implements TimerEntry {
  /** Owned by the timer wheel. */
  slot = -1
  readonly #timerWheel: TimerWheel
  readonly #chance: Chance
  readonly #peer: KeepAlivePeer
  #sent = 0
  #awaitsPong = false

  constructor(timerWheel: TimerWheel, chance: Chance, peer: KeepAlivePeer) {
    this.#timerWheel = timerWheel
    this.#chance = chance
    this.#peer = peer
  }

  /** Schedules the first ping. */
  start(): void {
    this.#schedulePing()
  }

  /** Takes a pong; false when none with this payload is awaited. */
  onPong(payload: string): boolean {
    if (!this.#awaitsPong || payload !== this.#sent.toString()) return false
    this.#schedulePing()
    return true
  }

  /** Sends no more pings. */
  stop(): void {
    this.#timerWheel.clear(this)
  }

  onTimer(): void {
    if (this.#peer.isReadPaused) {
      return this.#awaitsPong ? this.#timerWheel.set(this, PONG_MS) : this.#schedulePing()
    }
    if (this.#awaitsPong) return this.#peer.onDead()
    this.#sent += 1
    this.#awaitsPong = true
    this.#timerWheel.set(this, PONG_MS)
    this.#peer.ping(this.#sent.toString())
  }

  #schedulePing(): void {
    this.#awaitsPong = false
    this.#timerWheel.set(this, PING_MS * (1 - SPREAD + 2 * SPREAD * this.#chance()))
  }
}
