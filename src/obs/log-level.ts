/** Changes the level of the process log for a time, after which it goes back by itself to that of the settings. */
import { MINUTE_MS } from '../core/durations.ts'
import type { Clock } from '../lifecycle/clock.ts'
import type { LevelSwitch, Logger } from './logger.ts'

/** Levels that a line may have, the most important first; each shows those before it. */
export const changeableLevels = ['error', 'warn', 'info', 'debug'] as const
export type ChangeableLevel = (typeof changeableLevels)[number]

/** For so long a signal makes a process log more. */
const TOGGLED_MS = 15 * MINUTE_MS

/** The level that is logged. */
export interface LogLevelState {
  level: string
  /** That of the settings. */
  usual: string
  /** When it goes back to that, ms since 1970; null: it is that. */
  untilMs: number | null
}

/** The level of a process. */
export class LogLevel {
  readonly #switch: LevelSwitch
  readonly #clock: Clock
  readonly #logger: Logger
  readonly #usual: string
  #untilMs: number | null = null
  #cancel = (): void => {}

  constructor(parts: { level: LevelSwitch; clock: Clock; logger: Logger }) {
    this.#switch = parts.level
    this.#clock = parts.clock
    this.#logger = parts.logger
    this.#usual = parts.level.level
  }

  /** As it is now. */
  get state(): LogLevelState {
    return { level: this.#switch.level, usual: this.#usual, untilMs: this.#untilMs }
  }

  /** Logs this level for so long; a later call takes the place of an earlier one. */
  set(level: ChangeableLevel, forMs: number): LogLevelState {
    this.#cancel()
    this.#untilMs = this.#clock.now() + forMs
    this.#cancel = this.#clock.after(forMs, () => this.#goBack())
    this.#change(level)
    return this.state
  }

  /** Logs `debug` for a quarter of an hour; where the level is a changed one, that of the settings again. */
  toggleDebug(): void {
    if (this.#untilMs === null) this.set('debug', TOGGLED_MS)
    else {
      this.#cancel()
      this.#goBack()
    }
  }

  /** Cancels the return: the process stops. */
  close(): void {
    this.#cancel()
  }

  #goBack(): void {
    this.#untilMs = null
    this.#change(this.#usual)
  }

  /** The line is written where either level shows it. */
  #change(level: string): void {
    const log = (): void => this.#logger.warn('log.level_changed', { from, to: level })
    const from = this.#switch.level
    const isRaised = ['silent', 'fatal', 'error'].includes(level)
    if (isRaised) log()
    this.#switch.level = level
    if (!isRaised) log()
  }
}
