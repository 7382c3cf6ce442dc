/**
 * Tails the topic of the writer's state and keeps its rows in memory. A claim (the take-over of the log by a new writer)
 * thus waits only until its own fencing token is read.
 */
import type { ReaderParts } from '../client/connection.ts'
import { readPartition } from '../reading/partition-reader.ts'
import { FENCING_TOKEN_KEY } from './writer-state.ts'

/** The rows of the state topic. */
export class StateTail {
  readonly #parts: ReaderParts
  readonly #topic: string
  readonly #rows = new Map<string, string>()
  readonly #waiting = new Map<string, (rows: ReadonlyMap<string, string>) => void>()

  constructor(parts: ReaderParts, topic: string) {
    this.#parts = parts
    this.#topic = topic
  }

  /**
   * The rows at the moment when this token was read: everything that earlier writers have committed. To be called before
   * the token is written. Never rejects; waits until `forget`, where the token is never read.
   */
  rowsAt(token: string): Promise<ReadonlyMap<string, string>> {
    return new Promise((resolve) => this.#waiting.set(token, resolve))
  }

  /** Nobody waits for that token any more. */
  forget(token: string): void {
    this.#waiting.delete(token)
  }

  /** Reads the topic until the signal aborts, then resolves. */
  async run(signal: AbortSignal): Promise<void> {
    for await (const { records, rewound } of readPartition(this.#parts, this.#topic, 'compacted', signal)) {
      if (rewound !== null) this.#rows.clear()
      for (const { key, value } of records) {
        const name = `${key}`
        if (value === null) this.#rows.delete(name)
        else this.#rows.set(name, value.toString('utf8'))
        if (name !== FENCING_TOKEN_KEY) continue
        const token = `${value}`
        this.#waiting.get(token)?.(new Map(this.#rows))
        this.#waiting.delete(token)
      }
    }
  }
}
