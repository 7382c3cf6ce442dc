/**
 * Requests fund and investor-relations data from upstream (upstream specification §4.4). A response stays text: upstream
 * does not publish its schema, so only the presence of `data` is checked.
 */
import { countedSend, type SendPermit, withoutValue } from './client.ts'
import { type FundRequest, fundTarget } from './fund-target.ts'
import type { Outcome, Timing, UpstreamWords } from './outcome.ts'
import type { Transport } from './transport.ts'

/** Upstream has no data under that identifier: a valid answer, not a failure. */
export type NotFound = Timing & UpstreamWords & { kind: 'not_found' }

/**
 * `ok`: the JSON text of a 200 whose top level is an object with an object or a list in `data`. A key whose plan has no
 * funds is `unauthorised` with status 403.
 */
export type FundOutcome = Outcome<string> | NotFound

/** What every request needs. */
export interface FundCall {
  permit: SendPermit
  signal: AbortSignal
}

/** The client of the fund paths. */
export type FundClient = ReturnType<typeof createFundClient>

/** A client over that transport; the caller closes the transport. `now` is our clock, ms since 1970. */
export function createFundClient(transport: Transport, now: () => number) {
  const send = countedSend(transport, now)
  return {
    /**
     * Sends a request. Costs one unit of the purpose `gateway`.
     * @throws what the permit throws; then the request has not left
     */
    async get(request: FundRequest, { permit, signal }: FundCall): Promise<FundOutcome> {
      const outcome = await send(fundTarget(request), 'gateway', permit, signal)
      if (outcome.kind === 'refused' && outcome.status === 404) {
        const { message, hint } = outcome
        return { ...withoutValue(outcome), kind: 'not_found', message, hint }
      }
      if (outcome.kind !== 'ok' || hasData(outcome.value)) return outcome
      const reason = 'the answer is not a JSON object with `data`'
      return { ...withoutValue(outcome), kind: 'invalid', reason }
    },
  }
}

/** True for JSON whose top level is an object with an object or a list in `data`. */
function hasData(text: string): boolean {
  try {
    const answer: unknown = JSON.parse(text)
    const data = answer !== null && typeof answer === 'object' && 'data' in answer ? answer.data : null
    return data !== null && typeof data === 'object'
  } catch {
    return false
  }
}
