/** Parses the Retry-After header in both its forms, seconds and date. */

const WHOLE_SECONDS = /^\d{1,15}$/

/**
 * Milliseconds to wait from `nowMs`, or null when the header is absent or invalid (negative, not a number,
 * a date that has passed).
 */
export function retryAfterMs(header: string | null, nowMs: number): number | null {
  const text = header?.trim() ?? ''
  if (WHOLE_SECONDS.test(text)) return Number(text) * 1000
  const dateMs = /[A-Za-z]{3}/.test(text) ? Date.parse(text) : Number.NaN
  return dateMs > nowMs ? dateMs - nowMs : null
}
