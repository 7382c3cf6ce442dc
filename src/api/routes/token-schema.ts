/**
 * Answers of `/v1/tokens` as JSON Schema. Owns the description of each member. Refuses the body of a request:
 * `token-request.ts` has it.
 */
import { scopes } from '../../http/auth.ts'
import { list, object, orNull, text, time } from '../../http/schemas/json-schema.ts'

const facts = {
  tenant: text('Whose token it is.'),
  scopes: list({ type: 'string', enum: scopes }, { description: 'What it may do.' }),
  name: orNull(text('What it is for.')),
  expiresAt: orNull(time('From when on it is no longer valid.')),
  createdAt: time('When it was made.'),
}
const id = text('Names the token; no secret.', { pattern: '^tok_' })

/** A token that was just made. */
export const madeTokenSchema = object({
  id,
  token: text('What a caller shows. It is in this answer only.', { pattern: '^bridge_' }),
  ...facts,
})

/** A page of the list. */
export const tokenPageSchema = object({
  data: list(
    object({
      id,
      ...facts,
      lastUsed: orNull(time('The beginning of the hour in which it was last shown, on any node.')),
    }),
  ),
  next: orNull(text('The next `after`; null at the end.')),
})
