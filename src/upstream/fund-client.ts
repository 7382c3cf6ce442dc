/**
 * The client of upstream's fund and investor-relations paths (specification §4.4). Refuses to decode: upstream does not
 * publish these shapes, so an answer stays text and is only known to have `data`; and to know paths: `fund-target.ts` does.
 */
import { type CountedSend, countedSend, type SendPermit, withoutValue } from './client.ts'
import type { Outcome, Timing, UpstreamWords } from './outcome.ts'
import type { Transport } from './transport.ts'

/** Upstream has nothing of that sort under that identifier, which is an answer and no mistake. */
export type NotFound = Timing & UpstreamWords & { kind: 'not_found' }

/**
 * `ok`: the JSON text of a 200 whose top level is an object with an object or a list in `data`. A key whose plan has no
 * funds is `unauthorised` with status 403.
 */
export type FundOutcome = Outcome<string> | NotFound

/** What travels with every request. */
export interface FundCall {
  permit: SendPermit
  signal: AbortSignal
}

export interface FundClient {
  /**
   * Asks for a target as `fundTarget` spells it. Costs one unit of purpose `gateway`.
   * @throws what the permit throws; the request has not left then
   */
  get(target: string, call: FundCall): Promise<FundOutcome>
}

/** A client over that transport, which its maker closes. `now` is our clock, ms since 1970. */
export function createFundClient(transport: Transport, now: () => number): FundClient {
  const send = countedSend(transport, now)
  return { get: (target, call) => ask(send, target, call) }
}

async function ask(send: CountedSend, path: string, { permit, signal }: FundCall): Promise<FundOutcome> {
  const outcome = await send(path, 'gateway', permit, signal)
  if (outcome.kind === 'refused' && outcome.status === 404) {
    const { message, hint } = outcome
    return { ...withoutValue(outcome), kind: 'not_found', message, hint }
  }
  if (outcome.kind !== 'ok' || hasData(outcome.value)) return outcome
  return { ...withoutValue(outcome), kind: 'invalid', reason: 'the answer is no JSON object with `data`' }
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
