/**
 * Faults that a scenario brings with it: switched on, and where it says so off again, by the market's clock. Owns the
 * timetable. Refuses timers: whoever asks the switchboard makes it look at the clock first.
 */
import type { FaultSetting, Faults } from './faults.ts'

/** One fault of a scenario; times as in `Scenario`. */
export interface ScheduledFault {
  from: string
  /** When it ends; without it the setting's `count` or `forMs` (real time) says so. */
  until?: string
  setting: FaultSetting
}

/** A switchboard with a timetable. */
export interface TimedFaults extends Faults {
  /** True when every fault of the timetable has begun and, where it has an end, ended. */
  finished(): boolean
}

/** The same switchboard, which first switches on what is due. `momentMs` gives a scenario's time in ms since 1970. */
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
