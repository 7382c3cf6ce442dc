/**
 * One timer for the chores of every stream: signs of life, pings, pongs that do not come. Owns the turning: a ring of
 * slots, of which one falls due each quarter of a second of the clock. A timer that comes late finds all that fell due
 * meanwhile, so lateness never adds up. Refuses to know what falls due, and to be exact: an entry may be called a turn
 * late, and later where the process stands still or a thousand fall due together (`turns.ts`).
 */
import type { Clock } from '../../lifecycle/clock.ts'
import type { Turns } from './tick-budget.ts'

const TURN_MS = 250
/** Slots of the ring: the longest delay is one turn less than all of them, 64 s. */
const SLOTS = 256
/** In the place of a slot: it is due, and no longer in the ring. */
const DUE = SLOTS

/** Something with one moment to be called at. */
export interface Due {
  /** The wheel's own: where it waits, −1 where it does not. */
  slot: number
  onDue(): void
}

/** The slots, and the timer that runs while an entry waits. */
export class Wheel {
  readonly #clock: Clock
  readonly #turns: Turns
  /** The ring, and what is due behind it. */
  readonly #slots: Set<Due>[] = Array.from({ length: SLOTS + 1 }, () => new Set())
  /** Time by the clock, never back: what a clock is set back by does not count. */
  #passedMs = 0
  #lookedMs: number
  /** Turns of that time that are done. */
  #turned = 0
  #waiting = 0
  #cancel = (): void => {}

  constructor(clock: Clock, turns: Turns) {
    this.#clock = clock
    this.#turns = turns
    this.#lookedMs = clock.now()
  }

  /** Calls the entry after `delayMs`, at most 60 s, instead of whenever it would have been. */
  set(entry: Due, delayMs: number): void {
    this.clear(entry)
    this.#advance()
    const turn = Math.ceil((this.#passedMs + delayMs) / TURN_MS)
    this.#place(entry, Math.min(this.#turned + SLOTS - 1, Math.max(this.#turned + 1, turn)) % SLOTS)
    this.#waiting += 1
    if (this.#waiting === 1) this.#arm()
  }

  /** Does not call it; nothing where it does not wait. */
  clear(entry: Due): void {
    if (entry.slot < 0) return
    this.#slots[entry.slot]?.delete(entry)
    entry.slot = -1
    this.#waiting -= 1
    if (this.#waiting === 0) this.#cancel()
  }

  #place(entry: Due, slot: number): void {
    entry.slot = slot
    this.#slots[slot]?.add(entry)
  }

  /** Turns to the present: what fell due is gathered in order, to be called by the timer. */
  #advance(): void {
    const nowMs = this.#clock.now()
    this.#passedMs += Math.max(0, nowMs - this.#lookedMs)
    this.#lookedMs = nowMs
    const present = Math.floor(this.#passedMs / TURN_MS)
    const last = Math.min(present, this.#turned + SLOTS)
    for (let turn = this.#turned + 1; turn <= last; turn++) {
      const slot = this.#slots[turn % SLOTS]
      for (const entry of slot ?? []) this.#place(entry, DUE)
      slot?.clear()
    }
    this.#turned = present
  }

  #arm(): void {
    this.#cancel = this.#clock.after(TURN_MS - (this.#passedMs % TURN_MS), this.#turn)
  }

  readonly #turn = (): void => {
    this.#advance()
    this.#arm()
    const due = [...(this.#slots[DUE] ?? [])]
    this.#slots[DUE]?.clear()
    for (const entry of due) {
      this.#turns.add(() => {
        if (entry.slot !== DUE) return
        this.clear(entry)
        entry.onDue()
      })
    }
  }
}
