/**
 * Reads `Idempotency-Key` from a request, and answers a repeated request with what the first one made.
 */
import type { IncomingMessage } from 'node:http'
import { HttpProblem, retryLater } from '../../http/problem.ts'
import type { Call } from '../../http/route.ts'
import { type IdempotencyKeys, MAX_KEYS_PER_TENANT, type OnceSteps } from '../../registry/idempotency-keys.ts'

/** The header, for the docs of a route. */
export const IDEMPOTENCY_KEY = {
  'Idempotency-Key':
    'Names the request, 1–255 printable ASCII characters: a repeat with the same token, key and body within a day makes nothing again and has the same answer; with another body it is answered 422.',
}
/** The header of an answer to a repeat, for the docs of a route. */
export const REPLAYED = {
  'Idempotent-Replayed': '`true`: an earlier request with this `Idempotency-Key` made it.',
}
/** The code of a route's answers to a wrong key. */
export const KEY_REUSED = 'idempotency_key_reused'

const KEY = /^[\x20-\x7e]{1,255}$/

/** What was made, null where there was nothing to make, and the headers that say whether it was made before. */
export interface ActedOnce<Plan> {
  plan: Plan | null
  headers: Readonly<Record<string, string>>
}

/**
 * Acts once for each key of the caller's token; always where the request has none.
 * @throws HttpProblem `parameter_invalid`, `idempotency_key_reused`, `too_many`, `unavailable`; what the steps throw
 */
export async function actOnce<Plan>(
  { request, body, caller }: Call,
  keys: IdempotencyKeys,
  steps: OnceSteps<Plan>,
): Promise<ActedOnce<Plan>> {
  const key = keyOf(request)
  if (key === null) {
    const plan = await steps.prepare()
    if (plan !== null) await steps.act(plan, { isRepeat: false, isDone: false })
    return { plan, headers: {} }
  }
  if (!keys.isLoaded) throw retryLater('unavailable', 'this node has not read the idempotency keys yet')
  const { tenant, tokenId } = caller
  const path = `${request.method} ${request.url}`
  const result = await keys.once({ tenant, tokenId, key, path, body }, steps)
  switch (result.kind) {
    case 'reused':
      throw new HttpProblem(KEY_REUSED, 'this Idempotency-Key belongs to a request with another path or body')
    case 'full':
      throw retryLater(
        'too_many',
        `a tenant has at most ${MAX_KEYS_PER_TENANT} values of Idempotency-Key within a day`,
      )
    case 'nothing':
      return { plan: null, headers: {} }
    case 'made':
      return { plan: result.plan, headers: {} }
    case 'repeated':
      return { plan: result.plan, headers: { 'Idempotent-Replayed': 'true' } }
  }
}

function keyOf({ headers }: IncomingMessage): string | null {
  const given = headers['idempotency-key']
  if (given === undefined) return null
  const key = typeof given === 'string' ? given : given.join(', ')
  if (KEY.test(key)) return key
  const message = 'must have 1 to 255 printable ASCII characters'
  throw new HttpProblem('parameter_invalid', 'wrong: Idempotency-Key', {
    errors: [{ field: 'Idempotency-Key', message }],
  })
}
