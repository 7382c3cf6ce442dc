/**
 * Opens the SQLite file with a node's history of webhook delivery attempts when it is first needed. A damaged file is
 * replaced by an empty one; on the embedded log, where it is the only copy, it is kept beside as `.damaged`.
 */
import { renameSync, rmSync } from 'node:fs'
import { BridgeError, isBridgeError } from '../../errors.ts'
import type { Logger } from '../../obs/logger.ts'
import { AttemptStore } from './attempt-store.ts'

/** What SQLite keeps beside its file. */
const SIDES = ['-wal', '-shm']

/** The open file. */
export interface OpenAttemptFile {
  store: AttemptStore
  /** Aborts when the file turns out to be damaged. */
  damaged: AbortSignal
}

/** What the file needs. */
export interface AttemptFileOptions {
  /** In a directory that this process has alone. */
  path: string
  /** True where the file is the only place of the attempts; false where it is filled from a journal. */
  isOnlyCopy: boolean
  logger: Logger
}

/** The attempt file of a node. */
export class AttemptFile {
  readonly #options: AttemptFileOptions
  #opened: OpenAttemptFile | null = null

  constructor(options: AttemptFileOptions) {
    this.#options = options
  }

  /**
   * The file, opened where it is not, made where it is missing, begun anew where it is damaged.
   * @throws BridgeError `log_unavailable`
   */
  open(): OpenAttemptFile {
    if (this.#opened !== null && !this.#opened.damaged.aborted) return this.#opened
    if (this.#opened !== null) this.#beginAnew()
    try {
      this.#opened = this.#openStore()
    } catch (error) {
      if (!isBridgeError(error, 'log_damaged')) throw error
      this.#beginAnew(error)
      this.#opened = this.#openStore()
    }
    return this.#opened
  }

  /** Uses the open file. @throws BridgeError `log_unavailable`, also where the file turns out to be damaged */
  use<T>(work: (file: OpenAttemptFile) => T): T {
    try {
      return work(this.open())
    } catch (error) {
      if (!isBridgeError(error, 'log_damaged')) throw error
      throw new BridgeError(
        'log_unavailable',
        'the stored history of webhook attempts was damaged and is being rebuilt',
        {
          cause: error,
          hint: 'Try again in some seconds.',
        },
      )
    }
  }

  /** Closes the file. A damaged one stays for `open`. Callable twice. */
  close(): void {
    if (this.#opened === null || this.#opened.damaged.aborted) return
    this.#opened.store.close()
    this.#opened = null
  }

  #openStore(): OpenAttemptFile {
    const { path, isOnlyCopy } = this.#options
    const damaged = new AbortController()
    const store = new AttemptStore({ path, durable: isOnlyCopy, onDamage: () => damaged.abort() })
    return { store, damaged: damaged.signal }
  }

  #beginAnew(cause?: unknown): void {
    const { path, isOnlyCopy, logger } = this.#options
    this.#opened?.store.close()
    this.#opened = null
    for (const side of SIDES) rmSync(`${path}${side}`, { force: true })
    if (isOnlyCopy) renameSync(path, `${path}.damaged`)
    else rmSync(path, { force: true })
    if (isOnlyCopy) logger.error('attempt_history.damaged', { error: lost(cause) })
    else logger.warn('attempt_history.rebuilt', { error: rebuilt(cause) })
  }
}

function lost(cause: unknown): BridgeError {
  return new BridgeError(
    'log_damaged',
    'the stored history of webhook attempts is damaged: a new, empty history starts',
    {
      cause,
      hint:
        'No delivery is affected. The damaged file is kept beside the new one as attempts.db.damaged; delete it when you do ' +
        'not need it. If this repeats, check the disk.',
    },
  )
}

function rebuilt(cause: unknown): BridgeError {
  return new BridgeError(
    'log_damaged',
    'the stored history of webhook attempts is damaged: it is filled again from the log',
    {
      cause,
      hint: 'Nothing needs doing. If this repeats, check the disk.',
    },
  )
}
