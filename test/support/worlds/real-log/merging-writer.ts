/**
 * Writes several commits of rows in one. A poller that finds nothing writes rows twice a poll, and the next poll overwrites
 * them: on Kafka each would be a transaction, and a world of `enterprise` has 8,000 of them.
 */
import type { Committed } from '../../../../src/core/event.ts'
import type { Commit, Writer } from '../../../../src/log/events.ts'

/** Commits of rows that become one. Enough of them stay that each world also writes rows alone, many times. */
const MOST_MERGED = 20

/** A writer whose commits of rows wait for `MOST_MERGED` of them, a commit of events or rejected items, or `flush`. */
export class MergingWriter implements Writer {
  readonly #writer: Writer
  #rows = new Map<string, string | null>()
  #waiting = 0
  /** False: each commit is written at once. */
  merges = true

  constructor(writer: Writer) {
    this.#writer = writer
  }

  get epoch(): string {
    return this.#writer.epoch
  }

  get sequence(): number {
    return this.#writer.sequence
  }

  get rows(): ReadonlyMap<string, string> {
    return this.#writer.rows
  }

  /** Whether everything that was committed has been written. */
  get written(): boolean {
    return this.#waiting === 0
  }

  async commit(commit: Commit): Promise<Committed[]> {
    for (const [key, value] of commit.rows ?? []) this.#rows.set(key, value)
    this.#waiting += 1
    const onlyRows = commit.events.length === 0 && (commit.rejected ?? []).length === 0
    return this.merges && onlyRows && this.#waiting < MOST_MERGED ? [] : this.#write(commit)
  }

  /** Writes the rows that wait. */
  async flush(): Promise<void> {
    if (!this.written) await this.#write({ events: [] })
  }

  release(): Promise<void> {
    return this.#writer.release()
  }

  async #write(commit: Commit): Promise<Committed[]> {
    const events = await this.#writer.commit({ ...commit, rows: this.#rows })
    this.#rows = new Map()
    this.#waiting = 0
    return events
  }
}
