/**
 * Switches a scenario's faults on and off at times of the market clock. It sets no timers: each call first applies the
 * changes that are due.
 */
import type { FaultSetting, Faults } from './faults.ts'

/** One fault of a scenario; times as in `Scenario`. */
export interface ScheduledFault {
  from: string
  /** When it ends; without it, the setting's `count` or `forMs` (real time) decides. */
  until?: string
  setting: FaultSetting
}

/** Faults with a timetable. */
export interface TimedFaults extends Faults {
  /** True when every fault of the timetable has started and every `until` has passed. */
  finished(): boolean
}

/** Wraps `faults` to switch on scheduled faults when due. `momentMs` converts a scenario's time to ms since 1970. */
export function scheduledFaults(
  faults: Faults,
  timetable: readonly ScheduledFault[],
  { momentMs, nowMs }: { momentMs: (time: string) => number; nowMs: () => number },
): TimedFaults {
  const rising = timetable
    .map(({ from, until, setting }) => ({
      fromMs: momentMs(from),
      untilMs: until === undefined ? null : momentMs(until),
      setting,
    }))
    .sort((left, right) => left.fromMs - right.fromMs)
  let begun = 0
  const switchOn = (): void => {
    for (let next = rising[begun]; next !== undefined && next.fromMs <= nowMs(); next = rising[begun]) {
      const { untilMs, setting } = next
      if (untilMs === null) faults.add(setting)
      else faults.add(setting, () => nowMs() >= untilMs)
      begun += 1
    }
  }
  return {
    add: (setting, isOver) => faults.add(setting, isOver),
    list() {
      switchOn()
      return faults.list()
    },
    remove(id) {
      switchOn()
      return faults.remove(id)
    },
    meet(request) {
      switchOn()
      return faults.meet(request)
    },
    finished() {
      switchOn()
      return begun === rising.length && rising.every(({ untilMs }) => untilMs === null || nowMs() >= untilMs)
    },
  }
}
