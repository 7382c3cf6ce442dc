/** Defines when the retries of `bench/webhook-retries.ts` are due, for both their writer and their receiver. */

/** Retries that wait for each endpoint, of the events from sequence 1 on. */
export const RETRIES_OF_EACH = 10
/** Of all endpoints. */
const ALL_RETRIES = 100_000
/** Between two that fall due, ms: 500 a second. */
const DUE_APART_MS = 2
/** Has no factor in common with their number: neighbours in time are of other endpoints. */
const DUE_STRIDE = 7919

/** When the retry of that event to the endpoint at that place is due, ms since 1970; the first of all at `firstMs`. */
export function retryDueMs(place: number, sequence: number, firstMs: number): number {
  const number = ((place * RETRIES_OF_EACH + sequence - 1) * DUE_STRIDE) % ALL_RETRIES
  return firstMs + number * DUE_APART_MS
}
