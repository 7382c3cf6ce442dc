/**
 * One timer for the chores of every stream: signs of life, pings, pongs that do not come. Owns the turning: a ring of
 * slots, of which one falls due each quarter of a second. Refuses to know what falls due, and to be exact: an entry may be
 * called a turn late, and later where a thousand fall due together (`turns.ts`).
 */
import type { Clock } from '../lifecycle/clock.ts'
import type { Turns } from './turns.ts'

const TURN_MS = 250
/** Slots of the ring: the longest delay is one turn less than all of them, 64 s. */
const SLOTS = 256

/** Something with one moment to be called at. */
export interface Due {
  /** The wheel's own: where it waits, −1 where it does not. */
  slot: number
  onDue(): void
}

/** The slots, and the timer that runs while one of them holds an entry. */
export class Wheel {
  readonly #clock: Clock
  readonly #turns: Turns
  readonly #slots: Set<Due>[] = Array.from({ length: SLOTS }, () => new Set())
  #now = 0
  #waiting = 0
  #cancel = (): void => {}

  constructor(clock: Clock, turns: Turns) {
    this.#clock = clock
    this.#turns = turns
  }

  /** Calls the entry after `delayMs`, at most 60 s, instead of whenever it would have been. */
  set(entry: Due, delayMs: number): void {
    this.clear(entry)
    const turns = Math.min(SLOTS - 1, Math.max(1, Math.ceil(delayMs / TURN_MS)))
    entry.slot = (this.#now + turns) % SLOTS
    this.#slots[entry.slot]?.add(entry)
    this.#waiting += 1
    if (this.#waiting === 1) this.#cancel = this.#clock.after(TURN_MS, this.#turn)
  }

  /** Does not call it; nothing where it does not wait. */
  clear(entry: Due): void {
    if (entry.slot < 0) return
    this.#slots[entry.slot]?.delete(entry)
    entry.slot = -1
    this.#waiting -= 1
    if (this.#waiting === 0) this.#cancel()
  }

  readonly #turn = (): void => {
    this.#cancel = this.#clock.after(TURN_MS, this.#turn)
    this.#now = (this.#now + 1) % SLOTS
    const slot = this.#now
    for (const entry of [...(this.#slots[slot] ?? [])]) {
      this.#turns.add(() => {
        if (entry.slot !== slot) return
        this.clear(entry)
        entry.onDue()
      })
    }
  }
}
