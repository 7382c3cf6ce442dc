/**
 * Serves `/v1/tokens`: creates, lists and deletes API tokens. A token of another tenant is answered like
 * one that does not exist; the admin token sees those of all tenants.
 */
import type { z } from 'zod'
import { isoMillis, isoOrNull } from '../../core/dates.ts'
import { type Caller, tokensLoading } from '../../http/auth.ts'
import { pageOf, pageParameters, readPageParameters } from '../../http/page.ts'
import { HttpProblem } from '../../http/problem.ts'
import { readBody } from '../../http/read-body.ts'
import { type Call, type Route, sendJson } from '../../http/route.ts'
import type { Clock } from '../../lifecycle/clock.ts'
import type { Logger } from '../../obs/logger.ts'
import { isId } from '../../registry/ids.ts'
import { MAX_TOKENS_PER_TENANT, type NewToken, type Token, type Tokens } from '../../registry/tokens.ts'
import { meRoute } from './me-route.ts'
import { listedToken, MAX_TOKEN_BODY_BYTES, madeToken, tokenRequest } from './token-schema.ts'

const PATH = '/v1/tokens'

/** What the routes work with. */
export interface TokenRoutesOptions {
  tokens: Tokens
  clock: Clock
  logger: Logger
}

/** The routes. */
export function tokenRoutes(options: TokenRoutesOptions): Route[] {
  return [
    {
      method: 'POST',
      audit: 'token.created',
      path: PATH,
      scope: 'admin',
      summary:
        'Makes a token: 201 with `{id, token, tenant, scopes, name, expiresAt, createdAt}`; `token` is shown here only. ' +
        `At most ${MAX_TOKENS_PER_TENANT} a tenant. See [tokens.md](tokens.md).`,
      parameters: {},
      body: { maxBytes: MAX_TOKEN_BODY_BYTES, schema: tokenRequest(0) },
      answers: { 201: { meaning: 'The token, with its text.', schema: madeToken } },
      problems: ['limit_reached'],
      handle: (call) => create(call, options),
    },
    {
      method: 'GET',
      path: PATH,
      scope: 'admin',
      summary:
        'The tokens of the tenant, in the order of their creation: `{data: [{id, tenant, scopes, name, expiresAt, createdAt, lastUsed}], next}`.',
      parameters: pageParameters('tokens'),
      answers: { 200: { meaning: 'A page of tokens.', schema: pageOf(listedToken) } },
      handle: (call) => list(call, options.tokens),
    },
    {
      method: 'DELETE',
      audit: 'token.deleted',
      path: `${PATH}/{id}`,
      scope: 'admin',
      requireTarget: (target) => void tokenOf(target, options.tokens),
      summary: 'Deletes a token: 204. Within a second it is good on no node, and streams opened with it end.',
      parameters: {},
      answers: { 204: { meaning: 'It is deleted.' } },
      handle: (call) => remove(call, options),
    },
    meRoute(options.tokens),
  ]
}

async function create(
  { query, body, caller, response, change }: Call,
  options: TokenRoutesOptions,
): Promise<void> {
  const { tokens, clock, logger } = options
  query.check()
  const { expiresAt: expiresAtMs, ...named } = readBody(tokenRequest(clock.now()), body)
  const wanted = { ...named, expiresAtMs }
  checkGrant(wanted, caller)
  if (!tokens.isLoaded) throw tokensLoading()
  const { token, text } = await change(caller, { target: null, tenant: wanted.tenant }, async (note) => {
    const made = await tokens.create(wanted)
    if (made === 'tenant_full') {
      throw new HttpProblem('limit_reached', `the tenant has ${MAX_TOKENS_PER_TENANT} tokens already`)
    }
    if (made === 'full')
      throw new HttpProblem('limit_reached', 'this bridge has reached its limit of tokens; delete one first')
    note({ target: made.token.id, after: factsOf(made.token) })
    return made
  })
  const { id, tenant, scopes } = token
  logger.info('token.created', { tokenId: id, tenant, scopes, by: caller.tokenId })
  sendJson(response, 201, Buffer.from(JSON.stringify({ id, token: text, ...factsOf(token) })))
}

/** @throws HttpProblem `forbidden` if the caller requests more rights than its own */
function checkGrant({ tenant, scopes, expiresAtMs }: NewToken, caller: Caller): void {
  if (!caller.seesAllTenants && tenant !== caller.tenant) {
    throw new HttpProblem(
      'forbidden',
      `this token can only create tokens of its own tenant, ${caller.tenant}`,
    )
  }
  const more = scopes.filter((scope) => !caller.scopes.includes(scope))
  if (more.length > 0) {
    throw new HttpProblem(
      'forbidden',
      `a token cannot grant scopes that it does not have itself: ${more.join(', ')}`,
    )
  }
  const end = caller.expiresAtMs
  if (end !== null && (expiresAtMs ?? Number.POSITIVE_INFINITY) > end) {
    throw new HttpProblem(
      'forbidden',
      `this token expires at ${isoMillis(end)}, and so must the tokens that it creates: give an earlier expiresAt`,
    )
  }
}

async function list({ query, caller, response }: Call, tokens: Tokens): Promise<void> {
  const { after, limit } = readPageParameters(query, (text) => (isId('tok', text) ? text : null))
  query.check()
  if (!tokens.isLoaded) throw tokensLoading()
  const tenant = caller.seesAllTenants ? null : caller.tenant
  const page = tokens.list({ tenant, after: after ?? '', limit: limit + 1 })
  const shown = page.slice(0, limit)
  const next = page.length > limit ? (shown.at(-1)?.id ?? null) : null
  sendJson(response, 200, Buffer.from(JSON.stringify({ data: shown.map(listed), next })))
}

/** The token that the path names. @throws HttpProblem `not_found`, or `unavailable` until the tokens have been read */
function tokenOf({ segment, caller }: Pick<Call, 'segment' | 'caller'>, tokens: Tokens): Token {
  if (!tokens.isLoaded) throw tokensLoading()
  const token = tokens.get(segment('id'))
  if (token === null || !(caller.seesAllTenants || token.tenant === caller.tenant)) {
    throw new HttpProblem('not_found', 'there is no token of this id; GET /v1/tokens lists them')
  }
  return token
}

async function remove(call: Call, { tokens, logger }: TokenRoutesOptions): Promise<void> {
  const { query, caller, response } = call
  query.check()
  const token = tokenOf(call, tokens)
  const { id, tenant } = token
  const deleted = { target: id, tenant, before: factsOf(token) }
  await call.change(caller, deleted, () => tokens.delete(id))
  logger.info('token.deleted', { tokenId: id, tenant, by: caller.tokenId })
  response.writeHead(204, { 'Cache-Control': 'no-store' }).end()
}

function listed(token: Token): z.infer<typeof listedToken> {
  return { id: token.id, ...factsOf(token), lastUsed: isoOrNull(token.lastUsedMs) }
}

function factsOf({ tenant, scopes, name, expiresAtMs, createdAtMs }: Token) {
  return {
    tenant,
    scopes: [...scopes],
    name,
    expiresAt: isoOrNull(expiresAtMs),
    createdAt: isoMillis(createdAtMs),
  }
}
