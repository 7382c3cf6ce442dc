/**
 * Defines why a request to the mirrored upstream API is refused, and builds the error body (specification §2.13, §7).
 */

/** The rules that a request can break; the sandbox counts refusals by these names. */
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
  /** When to retry after a 503. */
  retryAfterSeconds?: number
}

/** Builds the refusal of an invalid parameter or cursor. */
export function badRequest(violation: Violation, message: string, hint: string | null = null): Refusal {
  return { status: 400, violation, message, hint }
}

/** Encodes `{error:{message, hint?}}` as JSON text. */
export function errorBody(message: string, hint: string | null = null): string {
  return JSON.stringify({ error: hint === null ? { message } : { message, hint } })
}
