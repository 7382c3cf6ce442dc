/**
 * Defines the request and response bodies of `/v1/tokens` as zod objects. Types, validation and the schemas in
 * `/openapi.json` come from them.
 */
import { z } from 'zod'
import { scopes } from '../../http/auth.ts'
import { oneOf, plainText, timeText } from '../../http/read-body.ts'
import { isoTime, mustBe } from '../../http/schemas/json-schema.ts'

/** Largest body, bytes. */
export const MAX_TOKEN_BODY_BYTES = 4096
const LONGEST_NAME = 100
const TENANT = /^[a-z0-9][a-z0-9._-]{0,62}$/

const tenantRule = mustBe('must be 1 to 63 of a–z, 0–9, ".", "_", "-", the first a letter or digit')
const scopesRule = mustBe(`must be a list of 1 to ${scopes.length} of ${scopes.join(', ')}`)

/** Schema of the body of `POST /v1/tokens`, validated against this time, ms since 1970. */
export function tokenRequest(nowMs: number) {
  return z.strictObject({
    tenant: z
      .string(tenantRule)
      .regex(TENANT, tenantRule)
      .describe(
        'Whose token it is: 1–63 of `a–z`, `0–9`, `.`, `_`, `-`, the first a letter or digit. Only `BRIDGE_ADMIN_TOKEN` makes tokens of other tenants than its own.',
      ),
    scopes: z
      .array(oneOf(scopes), scopesRule)
      .min(1, scopesRule)
      .max(scopes.length, scopesRule)
      .superRefine((list, context) => {
        for (const [index, scope] of list.entries()) {
          if (list.indexOf(scope) === index) continue
          context.addIssue({ code: 'custom', path: [index], message: 'is in the list already' })
        }
      })
      .transform((list) => scopes.filter((scope) => list.includes(scope)))
      .describe(
        `What it may do: a list of ${scopes.map((scope) => `\`${scope}\``).join(', ')}, none that the caller lacks.`,
      ),
    name: plainText(LONGEST_NAME)
      .nullish()
      .transform((name) => name ?? null)
      .describe(`What it is for, 1–${LONGEST_NAME} characters. Null counts as absent.`),
    expiresAt: timeText()
      .refine(({ fromMs }) => fromMs > nowMs, 'must be in the future')
      .nullish()
      .transform((end) => end?.fromMs ?? null)
      .describe(
        'Time from which it is no longer valid; not later than the caller’s own. Without it the token stays until it is deleted. Null counts as absent.',
      ),
  })
}

const facts = {
  tenant: z.string().describe('Whose token it is.'),
  scopes: z.array(z.enum(scopes)).describe('What it may do.'),
  name: z.string().describe('What it is for.').nullable(),
  expiresAt: isoTime('From when on it is no longer valid.').nullable(),
  createdAt: isoTime('When it was made.'),
}
const id = z.string().meta({ description: 'Names the token; no secret.', pattern: '^tok_' })

/** A token that was just created. */
export const madeToken = z.object({
  id,
  token: z
    .string()
    .meta({ description: 'What a caller shows. It is in this answer only.', pattern: '^bridge_' }),
  ...facts,
})

/** A token of the list. */
export const listedToken = z.object({
  id,
  ...facts,
  lastUsed: isoTime('The beginning of the hour in which it was last shown, on any node.').nullable(),
})
