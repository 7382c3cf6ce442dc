/**
 * Ends streams when the API token that opened them is deleted or expires. One abort listener serves all streams of a
 * token, of which there may be thousands.
 */
import type { TickBudget } from './tick-budget.ts'

/** A stream that ends with its token. */
export interface TokenBound {
  /** The token was deleted or has expired. */
  onTokenEnded(): void
}

/** Streams by the abort signal of their token (`Caller.ended`). */
export class TokenExpiry {
  readonly #tickBudget: TickBudget
  readonly #streams = new WeakMap<AbortSignal, Set<TokenBound>>()

  constructor(tickBudget: TickBudget) {
    this.#tickBudget = tickBudget
  }

  /** Notifies the stream when the token ends; does nothing for a token that has ended already. */
  add(ended: AbortSignal, stream: TokenBound): void {
    const streams = this.#streams.get(ended) ?? this.#watch(ended)
    streams.add(stream)
  }

  /** Removes a stream that is over. */
  remove(ended: AbortSignal, stream: TokenBound): void {
    this.#streams.get(ended)?.delete(stream)
  }

  #watch(ended: AbortSignal): Set<TokenBound> {
    const streams = new Set<TokenBound>()
    this.#streams.set(ended, streams)
    ended.addEventListener('abort', () => {
      for (const stream of [...streams]) this.#tickBudget.run(() => stream.onTokenEnded())
    })
    return streams
  }
}
