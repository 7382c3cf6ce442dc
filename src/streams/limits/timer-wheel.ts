/**
 * Runs the periodic timers of all streams on one timer wheel with slots of 250 ms: heartbeats, pings and pong
 * time-outs. A timer may fire a slot late, and later when the process is busy or a thousand fall due together
 * (`tick-budget.ts`); delays do not add up. An entry costs some 30 bytes here, a timer of its own 570 (20,000 of them,
 * heap after a collection).
 */
import type { Clock } from '../../lifecycle/clock.ts'
import type { TickBudget } from './tick-budget.ts'

const SLOT_MS = 250

/** Something to be called at one time. */
export interface TimerEntry {
  /** Owned by the wheel: the number of the slot in which it waits, −1 where it does not. */
  slot: number
  onTimer(): void
}

/** The slots by number, and a machine timer that runs while any entry waits. */
export class TimerWheel {
  readonly #clock: Clock
  readonly #tickBudget: TickBudget
  readonly #slots = new Map<number, Set<TimerEntry>>()
  /** Time passed on the clock; a clock that is set back adds nothing. */
  #passedMs = 0
  #readMs: number
  #waiting = 0
  #cancel = (): void => {}

  constructor(clock: Clock, tickBudget: TickBudget) {
    this.#clock = clock
    this.#tickBudget = tickBudget
    this.#readMs = clock.now()
  }

  /** Calls the entry after `delayMs`; replaces its earlier timer. */
  set(entry: TimerEntry, delayMs: number): void {
    this.clear(entry)
    entry.slot = Math.max(this.#present() + 1, Math.ceil((this.#passedMs + delayMs) / SLOT_MS))
    const entries = this.#slots.get(entry.slot) ?? new Set()
    this.#slots.set(entry.slot, entries.add(entry))
    this.#waiting += 1
    if (this.#waiting === 1) this.#arm()
  }

  /** Cancels the entry's timer, if it has one. */
  clear(entry: TimerEntry): void {
    if (entry.slot < 0) return
    this.#slots.get(entry.slot)?.delete(entry)
    entry.slot = -1
    this.#waiting -= 1
    if (this.#waiting === 0) this.#cancel()
  }

  /** The slot of this moment. */
  #present(): number {
    const nowMs = this.#clock.now()
    this.#passedMs += Math.max(0, nowMs - this.#readMs)
    this.#readMs = nowMs
    return Math.floor(this.#passedMs / SLOT_MS)
  }

  #arm(): void {
    this.#cancel = this.#clock.after(SLOT_MS - (this.#passedMs % SLOT_MS), () => this.#callDue())
  }

  /** Calls the entries of all slots up to now, in order. */
  #callDue(): void {
    const present = this.#present()
    this.#arm()
    for (const slot of [...this.#slots.keys()].filter((one) => one <= present).sort((a, b) => a - b)) {
      const due = this.#slots.get(slot) ?? []
      this.#slots.delete(slot)
      for (const entry of due) {
        this.#tickBudget.run(() => {
          if (entry.slot !== slot) return
          this.clear(entry)
          entry.onTimer()
        })
      }
    }
  }
}
