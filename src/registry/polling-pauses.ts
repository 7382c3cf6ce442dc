/**
 * Pauses and resumes polling for the whole installation. The pause is a row in a table of the log, so it outlives restarts
 * and changes of leader; every node follows it.
 */
import { z } from 'zod'
import { isoMillis } from '../core/dates.ts'
import type { Clock } from '../lifecycle/clock.ts'
import { createKeyedMutex } from '../lifecycle/keyed-mutex.ts'
import { createWakeup } from '../lifecycle/wakeup.ts'
import { followTable } from '../log/follow-table.ts'
import type { Log } from '../log/log.ts'
import type { Change, Table } from '../log/tables.ts'
import type { Logger } from '../obs/logger.ts'
import { createAwaitedChanges } from './awaited-changes.ts'

/** The table of the log that holds the pause. */
const OPERATIONS_TABLE = 'operations'
/** The key of its one row: while there is one, polling is paused. */
const PAUSE_KEY = 'polling_pause'

/** Most characters of the reason. */
export const LONGEST_REASON = 500

/** A later version may write more; what this one cannot read is not known, but the row pauses all the same. */
const pauseRow = z
  .object({
    sinceMs: z.number().catch(0),
    by: z.string().nullable().catch(null),
    reason: z.string().nullable().catch(null),
  })
  .catch({ sinceMs: 0, by: null, reason: null })

/** A pause of polling. */
export interface Pause {
  /** When it began, ms since 1970, by the clock of the node that was asked. */
  sinceMs: number
  /** The id of the token with which it was asked for; null: not known. */
  by: string | null
  /** What the operator said; null: nothing. */
  reason: string | null
}

/** What the pauses work with. */
export interface PollingPausesOptions {
  log: Pick<Log, 'table'>
  clock: Clock
  logger: Logger
}

/** Whether polling is paused, as this node knows it. Nothing is known until it runs. */
export class PollingPauses {
  readonly #clock: Clock
  readonly #logger: Logger
  readonly #table: Table<Pause>
  readonly #stopped = new AbortController()
  readonly #awaited = createAwaitedChanges(this.#stopped.signal)
  readonly #inTurn = createKeyedMutex()
  readonly #changed = createWakeup()
  #isLoaded = false
  #current: Pause | null = null
  /** `current` as it is in the table: a later version may have written more. */
  #row: Pause | null = null

  constructor({ log, clock, logger }: PollingPausesOptions) {
    this.#clock = clock
    this.#logger = logger
    this.#table = log.table<Pause>(OPERATIONS_TABLE)
  }

  /** Whether the table has been read. */
  get isLoaded(): boolean {
    return this.#isLoaded
  }

  /** The present pause; null while polling goes on, and until the table has been read. */
  get current(): Pause | null {
    return this.#current
  }

  /**
   * Pauses polling; durable when it resolves. A pause that is there already stays as it is; it is written again, because
   * another node may have ended it without this one knowing yet.
   * @throws BridgeError `log_unavailable`
   */
  pause(by: string, reason: string | null): Promise<Pause> {
    return this.#inTurn(PAUSE_KEY, async () => {
      const { current } = this
      if (current !== null && this.#row !== null) {
        await this.#table.put(PAUSE_KEY, this.#row)
        return current
      }
      const row = { sinceMs: this.#clock.now(), by, reason }
      await this.#awaited.write(PAUSE_KEY, () => this.#table.put(PAUSE_KEY, row))
      return row
    })
  }

  /**
   * Ends the pause, and returns it; null where this node knows of none. Another node may have begun one, so the row is deleted
   * all the same. @throws BridgeError `log_unavailable`
   */
  resume(): Promise<Pause | null> {
    return this.#inTurn(PAUSE_KEY, async () => {
      const ended = this.#current
      const remove = (): Promise<void> => this.#table.delete(PAUSE_KEY)
      await (ended === null ? remove() : this.#awaited.write(PAUSE_KEY, remove))
      return ended
    })
  }

  /** The present pause once the table has been read, then after every change, until the signal aborts. */
  async *follow(signal: AbortSignal): AsyncGenerator<Pause | null> {
    for (let shown: Pause | null | undefined; !signal.aborted; ) {
      if (!this.#isLoaded || this.#current === shown) {
        await this.#changed.wait(signal)
      } else {
        shown = this.#current
        yield shown
      }
    }
  }

  /** Reads the table and follows it until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    signal.addEventListener('abort', () => this.#stopped.abort(), { once: true })
    const reader = {
      onChange: (change: Change<Pause>): void => this.#apply(change),
      onLoaded: (): void => {
        this.#isLoaded = true
        this.#changed.wake()
      },
    }
    await followTable(this.#table, reader, signal)
  }

  #apply({ key, value }: Change<Pause>): void {
    if (key !== PAUSE_KEY) return
    const pause = value === null ? null : pauseRow.parse(value)
    if (pause !== null && this.#current === null) {
      const { by, reason } = pause
      this.#logger.warn('polling.paused', { from: isoMillis(pause.sinceMs), by, reason })
    }
    if (pause === null && this.#current !== null) {
      const durationMs = Math.max(0, this.#clock.now() - this.#current.sinceMs)
      this.#logger.info('polling.resumed', { durationMs })
    }
    this.#current = pause
    this.#row = value
    this.#changed.wake()
    this.#awaited.seen(key)
  }
}
