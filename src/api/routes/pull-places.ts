/**
 * Gives each waiting or reading pull a place of its token, its address and the node until its answer is out, as a
 * stream has one.
 */
import type { ReaderLimits } from '../../http/bounds/reader-limits.ts'
import { HttpProblem, type ProblemCode, retryLater } from '../../http/problem.ts'
import type { Call } from '../../http/route.ts'
import type { HttpRefusalCause } from '../../obs/metrics.ts'

/** The limits of pulls. */
export interface PullLimits extends ReaderLimits {
  /** Called for every pull that finds no place. */
  onRefused: (cause: HttpRefusalCause) => void
}

/** Errors of `takePullPlace`, for the docs of a route. */
export const pullPlaceProblems = ['too_many', 'over_capacity'] as const satisfies readonly ProblemCode[]

/**
 * Takes the places of a call until its answer is out or its client is gone.
 * @throws HttpProblem `too_many` or `over_capacity`
 */
export function takePullPlace(
  limits: PullLimits,
  { request, response, caller }: Pick<Call, 'request' | 'response' | 'caller'>,
): void {
  const { connectionSlots, tokenSlots, addressOf, onRefused } = limits
  if (response.destroyed) return
  const freeSlot = connectionSlots.take(addressOf(request))
  if (typeof freeSlot === 'string') {
    const [cause, who, limit] =
      freeSlot === 'full'
        ? (['pulls', 'this node', connectionSlots.limit] as const)
        : (['address_pulls', 'your address', connectionSlots.perAddress] as const)
    onRefused(cause)
    throw refusal('over_capacity', `${who} has ${limit} streams and pulls at a time already; come back later`)
  }
  // The token of the settings may have any number of streams, but not of pulls: no program needs a thousand at a time.
  const freeTokenSlot = tokenSlots.take({ ...caller, seesAllTenants: false })
  if (freeTokenSlot === null) {
    freeSlot()
    onRefused('token_pulls')
    throw refusal('too_many', `this token has ${tokenSlots.limit} streams and pulls at a time already`)
  }
  response.once('close', () => {
    freeSlot()
    freeTokenSlot()
  })
}

/** Ends the connection too: of thousands that find no place, each would hold some kilobytes while it is idle. */
function refusal(code: 'too_many' | 'over_capacity', detail: string): HttpProblem {
  const { headers } = retryLater(code, detail).parts
  return new HttpProblem(code, detail, { headers: { ...headers, Connection: 'close' } })
}
