/** Serves `GET /v1/me`: whose token the caller shows, or its session has, and what it may do. */
import { z } from 'zod'
import { isoMillis, isoOrNull } from '../../core/dates.ts'
import { type Caller, type Scope, scopes } from '../../http/auth.ts'
import { type Route, sendJson } from '../../http/route.ts'
import { isoTime } from '../../http/schemas/json-schema.ts'
import type { Tokens } from '../../registry/tokens.ts'

/** The scopes of a session that may only read. */
const READ_SCOPES: readonly Scope[] = ['events:read', 'webhooks:read']

/** Who asks. */
export const meSchema = z.object({
  tenant: z.string().describe('Whose token it is.'),
  tokenId: z.string().describe('Names the token; no secret. `settings` is that of `BRIDGE_ADMIN_TOKEN`.'),
  name: z.string().describe('What it is for.').nullable(),
  scopes: z.array(z.enum(scopes)).describe('What it may do now.'),
  expiresAt: isoTime('From when on the token is no longer valid; null: not by itself.').nullable(),
  session: z
    .object({
      expiresAt: isoTime('When the session ends.'),
      unlockedUntil: isoTime('Until when it may change something; null: it may only read.').nullable(),
      tokenScopes: z
        .array(z.enum(scopes))
        .describe('What the token may do: what may be read now, and be changed once it is unlocked.'),
    })
    .describe('The browser session that asks; absent where a token is shown.')
    .optional(),
})

/** The answer about this caller. */
export function meOf(caller: Caller, tokens: Pick<Tokens, 'get'>): z.infer<typeof meSchema> {
  const { tenant, tokenId, expiresAtMs, session } = caller
  const isLocked = session !== undefined && session.unlockedUntilMs === null
  return {
    tenant,
    tokenId,
    name: tokens.get(tokenId)?.name ?? null,
    scopes: caller.scopes.filter((scope) => !isLocked || READ_SCOPES.includes(scope)),
    expiresAt: isoOrNull(expiresAtMs),
    ...(session !== undefined && {
      session: {
        expiresAt: isoMillis(session.endsMs),
        unlockedUntil: isoOrNull(session.unlockedUntilMs),
        tokenScopes: [...caller.scopes],
      },
    }),
  }
}

/** The route. */
export function meRoute(tokens: Pick<Tokens, 'get'>): Route {
  return {
    method: 'GET',
    path: '/v1/me',
    scope: null,
    summary:
      'The token that asks: `{tenant, tokenId, name, scopes, expiresAt}`. Any valid token may ask. A browser session also gets `session`: its end and whether it may change anything, see [console.md](console.md).',
    parameters: {},
    answers: { 200: { meaning: 'Whose token it is, and what it may do.', schema: meSchema } },
    async handle({ query, caller, response }) {
      query.check()
      sendJson(response, 200, Buffer.from(JSON.stringify(meOf(caller, tokens))))
    },
  }
}
