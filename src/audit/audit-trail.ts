/**
 * Follows the audit journal into a file of this node, from which entries are listed. The file is only a copy: a damaged one
 * is discarded and read again from the log.
 */
import { rmSync } from 'node:fs'
import { type Backoff, backoffMs } from '../core/backoff.ts'
import { HOUR_MS } from '../core/durations.ts'
import { BridgeError, isBridgeError } from '../errors.ts'
import { type Chance, type Clock, sleep, yieldToEventLoop } from '../lifecycle/clock.ts'
import type { Journal } from '../log/journal.ts'
import type { Logger } from '../obs/logger.ts'
import { type AuditEntry, auditEntry } from './audit-rows.ts'
import { type AuditQuery, AuditStore } from './audit-store.ts'

/** Its name in the data directory. */
export const AUDIT_FILE = 'audit.db'
/** What SQLite keeps beside its file. */
const SIDES = ['', '-wal', '-shm']
/** Most bytes of the file that are in use: the oldest entries go before their time. */
const MOST_BYTES = 2 * 1024 ** 3
/** Between two deletions of old entries. */
const FORGET_EVERY_MS = HOUR_MS
/** Entries that are deleted at once. */
const FORGET_SLICE = 1000
/** Between two tries to follow the journal. */
const FOLLOW_BACKOFF: Backoff = { baseMs: 1000, factor: 2, maxMs: 60_000, jitter: 0.2 }

/** What the trail works with. */
export interface AuditTrailParts {
  /** Of its file, in a directory that this process has alone. */
  path: string
  journal: Pick<Journal<AuditEntry>, 'read'>
  /** `BRIDGE_AUDIT_RETENTION`. */
  retentionMs: number
  /** Of the file; 2 GiB by default. */
  mostBytes?: number
  clock: Clock
  chance: Chance
  logger: Logger
}

/** The audit entries that this node knows. */
export class AuditTrail {
  readonly #parts: AuditTrailParts
  #open: { store: AuditStore; damaged: AbortSignal } | null = null

  constructor(parts: AuditTrailParts) {
    this.#parts = parts
  }

  /** Entries that match, the newest first. @throws BridgeError `log_unavailable` where the file cannot be read now */
  list(query: AuditQuery): AuditEntry[] {
    const nowMs = this.#parts.clock.now()
    const keptFromMs = nowMs - this.#parts.retentionMs
    try {
      return this.#opened().store.list({ ...query, sinceMs: Math.max(query.sinceMs ?? 0, keptFromMs) })
    } catch (error) {
      if (!isBridgeError(error, 'log_damaged')) throw error
      throw new BridgeError('log_unavailable', 'the copy of the audit journal is being rebuilt', {
        cause: error,
        hint: 'Try again in some seconds.',
      })
    }
  }

  /** Follows the journal, and deletes old entries, until the signal aborts. Rejects only with a fault of the program. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([this.#follow(signal), this.#forgetAtTimes(signal)])
  }

  /** Closes the file. Callable twice. */
  close(): void {
    this.#open?.store.close()
    this.#open = null
  }

  async #follow(signal: AbortSignal): Promise<void> {
    const { clock, chance, logger } = this.#parts
    let failures = 0
    while (!signal.aborted) {
      try {
        for await (const _ of this.#followInto(signal)) failures = 0
      } catch (error) {
        if (!(error instanceof BridgeError)) throw error
        failures += 1
        if (failures === 1) logger.warn('audit.unavailable', { error })
        await sleep(clock, backoffMs(failures, FOLLOW_BACKOFF, chance), signal)
      }
    }
  }

  /** Reads the journal into the file; yields after each batch. Ends when the file turns out to be damaged. */
  async *#followInto(signal: AbortSignal): AsyncGenerator<void> {
    const { journal, logger } = this.#parts
    const { store, damaged } = this.#opened()
    for await (const { records, position } of journal.read(
      store.position,
      AbortSignal.any([signal, damaged]),
    )) {
      const entries = records.flatMap((record) => auditEntry.safeParse(record).data ?? [])
      const unreadable = records.length - entries.length
      if (unreadable > 0) logger.warn('audit.entries_unreadable', { count: unreadable })
      store.write(entries, position)
      yield
      await yieldToEventLoop()
    }
  }

  async #forgetAtTimes(signal: AbortSignal): Promise<void> {
    const { clock, retentionMs, logger } = this.#parts
    while (!signal.aborted) {
      try {
        const beforeMs = clock.now() - retentionMs
        while (!signal.aborted && this.#opened().store.forget(beforeMs, FORGET_SLICE) > 0)
          await yieldToEventLoop()
        const count = await this.#trim(signal)
        if (count > 0) logger.warn('audit.trimmed', { count })
      } catch (error) {
        if (!(error instanceof BridgeError)) throw error
      }
      await sleep(clock, FORGET_EVERY_MS, signal)
    }
  }

  /** Deletes the oldest entries of a file that is too large. Returns how many. */
  async #trim(signal: AbortSignal): Promise<number> {
    const { mostBytes = MOST_BYTES } = this.#parts
    let count = 0
    while (!signal.aborted && this.#opened().store.usedBytes > mostBytes) {
      const deleted = this.#opened().store.forget(Number.MAX_SAFE_INTEGER, FORGET_SLICE)
      if (deleted === 0) break
      count += deleted
      await yieldToEventLoop()
    }
    return count
  }

  /** The open file; begun anew where it is damaged. @throws BridgeError `log_unavailable` */
  #opened(): { store: AuditStore; damaged: AbortSignal } {
    if (this.#open?.damaged.aborted === true) this.#discard()
    if (this.#open !== null) return this.#open
    try {
      this.#open = this.#openStore()
    } catch (error) {
      if (!isBridgeError(error, 'log_damaged')) throw error
      this.#discard()
      this.#open = this.#openStore()
    }
    return this.#open
  }

  #openStore(): { store: AuditStore; damaged: AbortSignal } {
    const damaged = new AbortController()
    const store = new AuditStore({ path: this.#parts.path, onDamage: () => damaged.abort() })
    return { store, damaged: damaged.signal }
  }

  #discard(): void {
    this.close()
    for (const side of SIDES) rmSync(`${this.#parts.path}${side}`, { force: true })
    this.#parts.logger.warn('audit.copy_rebuilt')
  }
}
