/** Computes how long to wait before the next retry: exponential back-off with a ceiling and jitter. */

/** The shape of a back-off. */
export interface Backoff {
  /** Delay after the first failed attempt, before jitter. */
  baseMs: number
  /** Factor by which each further attempt multiplies the delay. */
  factor: number
  /** Ceiling before jitter. */
  maxMs: number
  /** Largest random change, as a share of the delay: 0.1 is ±10 %. */
  jitter: number
}

/**
 * Whole milliseconds to wait after the failed attempt number `attempt`, counted from 1.
 * Between `(1 - jitter)` and `(1 + jitter)` times `min(maxMs, baseMs × factor^(attempt − 1))`.
 * `chance` is a number in [0, 1); it is drawn once.
 */
export function backoffMs(attempt: number, shape: Backoff, chance: () => number): number {
  const plainMs = Math.min(shape.maxMs, shape.baseMs * shape.factor ** (attempt - 1))
  const spread = 1 + shape.jitter * (2 * chance() - 1)
  return Math.round(plainMs * spread)
}
