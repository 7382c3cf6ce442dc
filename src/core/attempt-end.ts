/**
 * Names the ways in which an attempt to deliver a webhook ends, and maps each to the outcome that metrics, API lists and
 * logs show.
 */

/** Longest attempt, from the DNS query to the last byte. */
export const ATTEMPT_LIMIT_MS = 15_000

/** What metrics, lists and logs call the end of an attempt. */
export const attemptOutcomes = [
  'ok',
  'client_error',
  'gone',
  'throttled',
  'server_error',
  'timeout',
  'dns',
  'connect',
  'tls',
  'blocked',
] as const
/** One of them. */
export type AttemptOutcome = (typeof attemptOutcomes)[number]
/** Those of attempts that the receiver answered. */
export const answeredOutcomes = ['ok', 'client_error', 'gone', 'throttled', 'server_error'] as const

/**
 * Why an attempt got no status. `broken`: the receiver's answer is not valid HTTP, or the connection broke within it.
 * `blocked_name`: the name servers know the name, and lead to an address that is not allowed.
 */
export type AttemptFault = 'timeout' | 'dns' | 'connect' | 'tls' | 'blocked' | 'blocked_name' | 'broken'

const faultOutcomes = {
  timeout: 'timeout',
  dns: 'dns',
  connect: 'connect',
  tls: 'tls',
  blocked: 'blocked',
  blocked_name: 'blocked',
  broken: 'server_error',
} as const satisfies Record<AttemptFault, AttemptOutcome>

/** How an attempt ended. Once there is a status, errors in the rest of the answer are ignored. */
export type AttemptEnd =
  | { kind: 'answered'; status: number; retryAfter: string | null }
  | { kind: 'failed'; fault: AttemptFault }

/** The label of an attempt's end for the operator: metrics and log. A redirect is a `client_error`: it is never followed, the endpoint's URL must be corrected. */
export function outcomeOf(end: AttemptEnd): AttemptOutcome {
  if (end.kind === 'failed') return faultOutcomes[end.fault]
  const { status } = end
  if (status >= 200 && status < 300) return 'ok'
  if (status === 410) return 'gone'
  if (status === 429) return 'throttled'
  return status >= 300 && status < 500 ? 'client_error' : 'server_error'
}

/**
 * The label for tenants: API and history. A name of the operator's network that leads to a refused address looks like one that
 * does not exist; otherwise a tenant could find out which names there are.
 */
export function shownOutcomeOf(end: AttemptEnd): AttemptOutcome {
  return end.kind === 'failed' && end.fault === 'blocked_name' ? 'dns' : outcomeOf(end)
}
