/** Serves `GET /v1/me`: whose token the caller shows, and what it may do. */
import { z } from 'zod'
import { isoOrNull } from '../../core/dates.ts'
import { scopes } from '../../http/auth.ts'
import { type Route, sendJson } from '../../http/route.ts'
import { isoTime } from '../../http/schemas/json-schema.ts'
import type { Tokens } from '../../registry/tokens.ts'

const meSchema = z.object({
  tenant: z.string().describe('Whose token it is.'),
  tokenId: z.string().describe('Names the token; no secret. `settings` is that of `BRIDGE_ADMIN_TOKEN`.'),
  name: z.string().describe('What it is for.').nullable(),
  scopes: z.array(z.enum(scopes)).describe('What it may do.'),
  expiresAt: isoTime('From when on it is no longer valid; null: not by itself.').nullable(),
})

/** The route. */
export function meRoute(tokens: Pick<Tokens, 'get'>): Route {
  return {
    method: 'GET',
    path: '/v1/me',
    scope: null,
    summary: 'The token that asks: `{tenant, tokenId, name, scopes, expiresAt}`. Any valid token may ask.',
    parameters: {},
    answers: { 200: { meaning: 'Whose token it is, and what it may do.', schema: meSchema } },
    async handle({ query, caller, response }) {
      query.check()
      const { tenant, tokenId, expiresAtMs } = caller
      const me: z.infer<typeof meSchema> = {
        tenant,
        tokenId,
        name: tokens.get(tokenId)?.name ?? null,
        scopes: [...caller.scopes],
        expiresAt: isoOrNull(expiresAtMs),
      }
      sendJson(response, 200, Buffer.from(JSON.stringify(me)))
    },
  }
}
