/**
 * Serves `POST /v1/webhooks/rewrap`: re-encrypts the secrets and headers of endpoints that are not under the current key. One
 * request handles a limited number of endpoints and reports how many are left.
 */
import { z } from 'zod'
import { isBridgeError } from '../../errors.ts'
import { type Call, type Route, sendJson } from '../../http/route.ts'
import { yieldToEventLoop } from '../../lifecycle/clock.ts'
import type { Endpoint, EndpointChange } from '../../registry/endpoints.ts'
import { checkLoaded } from './endpoint-of.ts'
import type { EndpointRoutesOptions } from './endpoint-routes.ts'
import { rewrapped } from './endpoint-secrets.ts'
import type { SecretBox } from './secrets.ts'
import { rewrappedHeaders } from './stored-headers.ts'

/** Maximum of endpoints that one request writes: on Kafka each takes some milliseconds. */
const MOST_WRITES = 200
/** Endpoints checked per event-loop tick: two milliseconds. */
const SLICE = 200
/** Maximum of unreadable endpoints in the response. */
const MOST_NAMED = 100

/** What the route works with. */
export type RewrapOptions = Pick<EndpointRoutesOptions, 'endpoints' | 'secrets' | 'clock' | 'logger'>

const rewrapSchema = z.object({
  rewrapped: z.int().describe('Endpoints that this request put under the present key.'),
  left: z.int().describe('Endpoints that still lie under the old one; ask again.'),
  unreadable: z
    .array(z.string().describe('Id of an endpoint.'))
    .describe('Endpoints whose secrets or headers no key of this bridge opens, at most a hundred of them.'),
})

/** The route. */
export function rewrapRoute(options: RewrapOptions): Route {
  return {
    method: 'POST',
    audit: 'webhook.secrets_re_encrypted',
    path: '/v1/webhooks/rewrap',
    scope: 'admin',
    summary: `Puts secrets and headers that lie under \`BRIDGE_SECRET_KEY_OLD\`, and headers that older builds stored in clear, under \`BRIDGE_SECRET_KEY\`, at most ${MOST_WRITES} endpoints of the tenant (of all with \`BRIDGE_ADMIN_TOKEN\`) a request: \`{rewrapped, left, unreadable: [id]}\`. Ask again while \`left\` is not 0. See [webhooks.md](webhooks.md#changing-the-key).`,
    parameters: {},
    answers: { 200: { meaning: 'What was done, and what is left.', schema: rewrapSchema } },
    handle: (call) => rewrap(call, options),
  }
}

async function rewrap(call: Call, options: RewrapOptions): Promise<void> {
  const { query, caller, response } = call
  const { endpoints, secrets, clock, logger } = options
  query.check()
  checkLoaded(endpoints)
  const own = endpoints.all().filter(({ tenant }) => caller.seesAllTenants || tenant === caller.tenant)
  const unreadable: string[] = []
  const due: string[] = []
  for (const [index, endpoint] of own.entries()) {
    if (index % SLICE === SLICE - 1) await yieldToEventLoop()
    const judged = judge(endpoint, secrets, clock.now())
    if (judged === 'unreadable') unreadable.push(endpoint.id)
    else if (judged === 'due') due.push(endpoint.id)
  }
  const count = due.length === 0 ? 0 : await writeFresh(call, due.slice(0, MOST_WRITES), options)
  if (count === null) return
  const left = due.length - count
  if (count > 0) logger.info('endpoint.secrets_re_encrypted', { count, by: caller.tokenId })
  const answer = { rewrapped: count, left, unreadable: unreadable.slice(0, MOST_NAMED) }
  sendJson(response, 200, Buffer.from(JSON.stringify(answer)))
}

/** How many of the endpoints were written; null where the client left before all were. */
async function writeFresh(
  { caller, gone, change }: Call,
  ids: readonly string[],
  { endpoints, secrets, clock }: RewrapOptions,
): Promise<number | null> {
  const tenant = caller.seesAllTenants ? null : caller.tenant
  return change(caller, { target: null, tenant }, async (note) => {
    let count = 0
    for (const id of ids) {
      if (gone.aborted) return null
      const done = await endpoints.update(id, (now) => freshOf(now, secrets, clock.now()))
      if (done !== 'tenant_full' && done !== 'full') count += 1
      note({ after: { endpoints: count } })
    }
    return count
  })
}

function judge(endpoint: Endpoint, secrets: SecretBox, nowMs: number): 'due' | 'current' | 'unreadable' {
  try {
    return freshOf(endpoint, secrets, nowMs) === null ? 'current' : 'due'
  } catch (error) {
    if (!isBridgeError(error, 'secret_unreadable')) throw error
    return 'unreadable'
  }
}

/** Secrets and headers under the present key; null where both are already. @throws BridgeError `secret_unreadable` */
function freshOf(endpoint: Endpoint, box: SecretBox, nowMs: number): EndpointChange | null {
  const secrets = rewrapped(endpoint, box, nowMs)
  const headers = rewrappedHeaders(endpoint, box)
  if (secrets === null && headers === null) return null
  return { ...(secrets !== null && { secrets }), ...(headers !== null && { headers }) }
}
