/**
 * Runs the periodic timers of all streams on one timer wheel: heartbeats, pings and pong time-outs. One slot of the wheel
 * falls due every 250 ms. A late timer catches up on all slots in between, so delays do not add up. Entries may be called a
 * slot late, and later when the process is busy or a thousand fall due together (`tick-budget.ts`).
 */
import type { Clock } from '../../lifecycle/clock.ts'
import type { TickBudget } from './tick-budget.ts'

const SLOT_MS = 250
/** Slots of the ring: the longest delay is one slot less than all of them, 64 s. */
const SLOTS = 256
/** Index of the set of entries that are due and no longer in the ring. */
const DUE = SLOTS

/** Something to be called at one time. */
export interface TimerEntry {
  /** Owned by the wheel: the slot in which it waits, −1 where it does not. */
  slot: number
  onTimer(): void
}

/** The slots, and a machine timer that runs while any entry waits. */
export class TimerWheel {
  readonly #clock: Clock
  readonly #tickBudget: TickBudget
  /** The ring, followed by the set of due entries. */
  readonly #slots: Set<TimerEntry>[] = Array.from({ length: SLOTS + 1 }, () => new Set())
  /** Time passed on the clock; a clock that is set back adds nothing. */
  #passedMs = 0
  #readMs: number
  /** Slots of that time that have been handled. */
  #handled = 0
  #waiting = 0
  #cancel = (): void => {}

  constructor(clock: Clock, tickBudget: TickBudget) {
    this.#clock = clock
    this.#tickBudget = tickBudget
    this.#readMs = clock.now()
  }

  /** Calls the entry after `delayMs`, at most 60 s; replaces its earlier timer. */
  set(entry: TimerEntry, delayMs: number): void {
    this.clear(entry)
    this.#advance()
    const slot = Math.ceil((this.#passedMs + delayMs) / SLOT_MS)
    this.#insert(entry, Math.min(this.#handled + SLOTS - 1, Math.max(this.#handled + 1, slot)) % SLOTS)
    this.#waiting += 1
    if (this.#waiting === 1) this.#arm()
  }

  /** Cancels the entry's timer, if it has one. */
  clear(entry: TimerEntry): void {
    if (entry.slot < 0) return
    this.#slots[entry.slot]?.delete(entry)
    entry.slot = -1
    this.#waiting -= 1
    if (this.#waiting === 0) this.#cancel()
  }

  #insert(entry: TimerEntry, slot: number): void {
    entry.slot = slot
    this.#slots[slot]?.add(entry)
  }

  /** Moves the entries of all slots up to now to the set of due entries, in order. */
  #advance(): void {
    const nowMs = this.#clock.now()
    this.#passedMs += Math.max(0, nowMs - this.#readMs)
    this.#readMs = nowMs
    const present = Math.floor(this.#passedMs / SLOT_MS)
    const last = Math.min(present, this.#handled + SLOTS)
    for (let index = this.#handled + 1; index <= last; index++) {
      const slot = this.#slots[index % SLOTS]
      for (const entry of slot ?? []) this.#insert(entry, DUE)
      slot?.clear()
    }
    this.#handled = present
  }

  #arm(): void {
    this.#cancel = this.#clock.after(SLOT_MS - (this.#passedMs % SLOT_MS), this.#callDue)
  }

  readonly #callDue = (): void => {
    this.#advance()
    this.#arm()
    const due = [...(this.#slots[DUE] ?? [])]
    this.#slots[DUE]?.clear()
    for (const entry of due) {
      this.#tickBudget.run(() => {
        if (entry.slot !== DUE) return
        this.clear(entry)
        entry.onTimer()
      })
    }
  }
}
