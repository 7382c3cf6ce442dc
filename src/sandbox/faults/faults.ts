/**
 * Keeps the sandbox's active faults (deliberately wrong responses), picks the one that applies to a request, and
 * validates faults that clients submit. Faults of a scenario follow the market clock, the sandbox's simulated time,
 * without timers: each call first applies the changes that are due.
 */
import { didYouMean } from '../../core/near.ts'
import { BridgeError, textOf } from '../../errors.ts'
import type { Clock } from '../../lifecycle/clock.ts'
import { takeDue } from '../take-due.ts'
import { type FaultRequest, type FaultSetting, faultKinds, faultSetting, meets } from './fault-kinds.ts'

/** An active fault. */
export interface ActiveFault {
  id: number
  setting: FaultSetting
  /** Requests it has applied to so far. */
  met: number
  /** Requests left; null = no limit. */
  left: number | null
}

/** One fault of a scenario; times as in `Scenario`. */
export interface ScheduledFault {
  from: string
  /** When it ends; without it, the setting's `count` or `forMs` (real time) decides. */
  until?: string
  setting: FaultSetting
}

/** The active faults. They are tried in the order in which they were switched on. */
export class Faults {
  readonly #clock: Clock
  readonly #marketNowMs: () => number
  /** The faults to come, ascending by start. */
  readonly #timetable: { fromMs: number; untilMs: number | null; setting: FaultSetting }[]
  readonly #lastEndMs: number
  #active: { fault: ActiveFault; isOver: () => boolean }[] = []
  #lastId = 0

  /** `forMs` of a setting runs on `clock`. `momentMs` converts a scenario's time to ms since 1970, as `nowMs` has it. */
  constructor(
    clock: Clock,
    timetable: readonly ScheduledFault[],
    market: { momentMs: (time: string) => number; nowMs: () => number },
  ) {
    this.#clock = clock
    this.#marketNowMs = market.nowMs
    this.#timetable = timetable
      .map(({ from, until, setting }) => ({
        fromMs: market.momentMs(from),
        untilMs: until === undefined ? null : market.momentMs(until),
        setting,
      }))
      .sort((left, right) => left.fromMs - right.fromMs)
    this.#lastEndMs = Math.max(...this.#timetable.map(({ untilMs }) => untilMs ?? 0))
  }

  /** Switches a fault on. */
  add(setting: FaultSetting): ActiveFault {
    if (setting.forMs === undefined) return this.#start(setting, null)
    const untilMs = this.#clock.now() + setting.forMs
    return this.#start(setting, () => this.#clock.now() >= untilMs)
  }

  /** Lists the active faults. */
  list(): ActiveFault[] {
    this.#update()
    return this.#active.map(({ fault }) => ({ ...fault }))
  }

  /** Switches off one fault, or all for null. Returns how many it removed. */
  remove(id: number | null): number {
    this.#update()
    const before = this.#active.length
    this.#active = id === null ? [] : this.#active.filter(({ fault }) => fault.id !== id)
    return before - this.#active.length
  }

  /** Returns and counts the fault that applies to this request; null if none does. */
  meet(request: FaultRequest): FaultSetting | null {
    this.#update()
    const fault = this.#active.find(({ fault: { setting } }) => meets(setting, request))?.fault
    if (fault === undefined) return null
    fault.met += 1
    if (fault.left !== null) fault.left -= 1
    return fault.setting
  }

  /** True when every fault of the scenario has started and every `until` has passed. */
  finished(): boolean {
    this.#update()
    return this.#timetable.length === 0 && this.#marketNowMs() >= this.#lastEndMs
  }

  /** Starts the scenario's faults that are due, and drops those that are over. */
  #update(): void {
    const nowMs = this.#marketNowMs()
    for (const { untilMs, setting } of takeDue(this.#timetable, ({ fromMs }) => fromMs <= nowMs)) {
      if (untilMs === null) this.add(setting)
      else this.#start(setting, () => this.#marketNowMs() >= untilMs)
    }
    this.#active = this.#active.filter(({ fault, isOver }) => fault.left !== 0 && !isOver())
  }

  /** `isOver` null: the fault lasts for its `count`, else for one request. */
  #start(setting: FaultSetting, isOver: (() => boolean) | null): ActiveFault {
    this.#lastId += 1
    const left = setting.count ?? (isOver === null ? 1 : null)
    const fault = { id: this.#lastId, setting, met: 0, left }
    this.#active.push({ fault, isOver: isOver ?? (() => false) })
    return { ...fault }
  }
}

/**
 * Validates a fault from a request body.
 * @throws BridgeError `failed` that names each invalid field
 */
export function readFault(body: unknown): FaultSetting {
  const result = faultSetting.safeParse(body)
  if (result.success) return result.data
  const errors = result.error.issues.map((issue) => ({
    field: issue.path.join('.') || 'body',
    message: issue.message,
  }))
  const kind = body !== null && typeof body === 'object' && 'kind' in body ? textOf(body.kind) : ''
  const isKnown = faultKinds.some((known) => known === kind)
  const message = isKnown
    ? `invalid settings of the fault "${kind}"`
    : `unknown kind of fault${didYouMean(kind, faultKinds)}`
  throw new BridgeError('failed', message, { hint: `kind is one of ${faultKinds.join(', ')}`, errors })
}
