/**
 * Why a request of the upstream API is refused, and the body it is refused with (specification §2.13, §7).
 * Owns the closed list of reasons. Refuses to be an exception: a refusal is an expected outcome.
 */

/** What a client can do wrong; the sandbox counts them by this name. */
export const violations = [
  'two_paging_modes',
  'page_size_above_plan',
  'page_cursor_of_other_query',
  'cursor_refused',
  'parameter_invalid',
  'unauthorised',
  'plan_required',
  'not_found',
  'method_not_allowed',
  'unavailable',
] as const

/** The rule that a refused request broke. */
export type Violation = (typeof violations)[number]

/** One refused request. */
export interface Refusal {
  status: 400 | 401 | 403 | 404 | 405 | 503
  violation: Violation
  message: string
  hint: string | null
  /** Of a 503: when to try again. */
  retryAfterSeconds?: number
}

/** An invalid parameter or cursor. */
export function badRequest(violation: Violation, message: string, hint: string | null = null): Refusal {
  return { status: 400, violation, message, hint }
}

/** `{error:{message, hint?}}` as JSON text. */
export function errorBody(message: string, hint: string | null = null): string {
  return JSON.stringify({ error: hint === null ? { message } : { message, hint } })
}
