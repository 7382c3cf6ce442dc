/**
 * Defines the error that refuses a request to the mirrored upstream API, with the broken rule, and encodes its response
 * body (specification §2.13, §7).
 */
import { type HttpProblem, type ProblemCode, problemCodes } from '../../http/problem.ts'

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

/** Ends the handling of a request with an error answer in the upstream's form. */
export class MirrorRefusal extends Error {
  readonly status: number
  readonly violation: Violation
  readonly hint: string | null
  /** Value of the Retry-After header; null: the header is not sent. */
  readonly retryAfterSeconds: number | null

  constructor(
    status: number,
    violation: Violation,
    message: string,
    hint: string | null = null,
    retryAfterSeconds: number | null = null,
  ) {
    super(message)
    this.name = 'MirrorRefusal'
    this.status = status
    this.violation = violation
    this.hint = hint
    this.retryAfterSeconds = retryAfterSeconds
  }

  /** The JSON text of the answer. */
  get body(): string {
    return errorBody(this.message, this.hint)
  }
}

/** The refusal of a request without a valid key. */
export function unauthorised(): MirrorRefusal {
  const hint = 'Send your key in the request header x-api-key.'
  return new MirrorRefusal(401, 'unauthorised', 'the API key is missing or not valid', hint)
}

/** Encodes `{error:{message, hint?}}` as JSON text. */
export function errorBody(message: string, hint: string | null = null): string {
  return JSON.stringify({ error: hint === null ? { message } : { message, hint } })
}

/** Encodes what a problem of ours says in the upstream's form. */
export function problemBody({ message, code }: HttpProblem): string {
  return errorBody(message, hints[code] ?? problemCodes[code][2])
}

/** Hints that replace the remedy of a problem where it names members that the upstream's error body does not have. */
const hints: Partial<Record<ProblemCode, string>> = {
  forbidden: 'Send a key that may do this in the request header x-api-key.',
  body_too_large: 'Send no body with this request.',
  url_too_long: 'Keep the address below 16 KB: ask for fewer identifiers at a time.',
}
