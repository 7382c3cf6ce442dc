/**
 * Streams that end with their token. Owns one listener a token instead of one a stream: thousands of streams may have one
 * token.
 */
import type { Turns } from './tick-budget.ts'

/** A stream of a token. */
export interface Ending {
  /** The token was deleted or has expired. */
  onTokenEnded(): void
}

/** By the signal of a token (`Caller.ended`). */
export class TokenEnds {
  readonly #turns: Turns
  readonly #streams = new WeakMap<AbortSignal, Set<Ending>>()

  constructor(turns: Turns) {
    this.#turns = turns
  }

  /** Tells the stream when the token ends; one that has ended tells nobody any more. */
  add(ended: AbortSignal, stream: Ending): void {
    const streams = this.#streams.get(ended) ?? this.#watch(ended)
    streams.add(stream)
  }

  remove(ended: AbortSignal, stream: Ending): void {
    this.#streams.get(ended)?.delete(stream)
  }

  #watch(ended: AbortSignal): Set<Ending> {
    const streams = new Set<Ending>()
    this.#streams.set(ended, streams)
    ended.addEventListener('abort', () => {
      for (const stream of [...streams]) this.#turns.add(() => stream.onTokenEnded())
    })
    return streams
  }
}
