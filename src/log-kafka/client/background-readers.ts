/** Runs readers in the background of an open log, each once, and tells who watches them that one has failed. */
import { aborted } from '../../lifecycle/aborted.ts'

/** A reader that resolves once the signal aborts, and rejects where it cannot go on. */
export interface BackgroundReader {
  run(signal: AbortSignal): Promise<void>
}

/** The readers of one log. */
export class BackgroundReaders {
  readonly #started: Promise<unknown>
  readonly #closed: AbortSignal
  readonly #running = new Map<BackgroundReader, Promise<void>>()
  readonly #failure = Promise.withResolvers<never>()

  /** They begin once `started` resolves, not at all where it rejects, and run until `closed` aborts. */
  constructor(started: Promise<unknown>, closed: AbortSignal) {
    this.#started = started
    this.#closed = closed
    this.#failure.promise.catch(ignore)
  }

  /** Runs the reader unless it runs already. */
  start(reader: BackgroundReader): void {
    if (this.#running.has(reader)) return
    const running = this.#started.then(() => reader.run(this.#closed).catch(this.#failure.reject), ignore)
    this.#running.set(reader, running)
  }

  /** Resolves when the signal aborts. Rejects with the fault of the first reader that has failed. */
  async watch(signal: AbortSignal): Promise<void> {
    await Promise.race([this.#failure.promise, aborted(signal)])
  }

  /** Resolves when every reader has ended. */
  async ended(): Promise<void> {
    await Promise.all(this.#running.values())
  }
}

const ignore = (): void => undefined
