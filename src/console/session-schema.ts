/** Defines the bodies of `/v1/sessions` as zod objects: types, validation and `/openapi.json` come from them. */
import { z } from 'zod'
import { isoTime, mustBe } from '../http/schemas/json-schema.ts'
import { LINK_LIFE_MS } from '../registry/sessions.ts'

/** Largest body, bytes: a token has 4,096 at most. */
export const MAX_SESSION_BODY_BYTES = 8192
/** Longest life of a link, seconds. */
const MOST_LINK_SECONDS = 900

const LONGEST_TOKEN = 4096
const tokenText = () => {
  const rule = mustBe(`must be a token of 1 to ${LONGEST_TOKEN} characters`)
  return z.string(rule).min(1, rule).max(LONGEST_TOKEN, rule)
}
const lifeRule = mustBe(`must be a whole number from 10 to ${MOST_LINK_SECONDS}`)

/** Body of `POST /v1/sessions`. */
export const sessionRequest = z.strictObject({
  token: tokenText().describe('A token of this bridge, instead of the header `Authorization`.').optional(),
  code: tokenText()
    .describe('The code of a link of `POST /v1/sessions/links`, instead of a token.')
    .optional(),
})

/** Body of `POST /v1/sessions/current/unlock`. */
export const unlockRequest = z.strictObject({
  token: tokenText().describe('The token of the session, once more.'),
})

/** Body of `POST /v1/sessions/links`. */
export const linkRequest = z.strictObject({
  seconds: z
    .int(lifeRule)
    .min(10, lifeRule)
    .max(MOST_LINK_SECONDS, lifeRule)
    .default(LINK_LIFE_MS / 1000)
    .describe(`How long the link is good, 10 to ${MOST_LINK_SECONDS}; default ${LINK_LIFE_MS / 1000}.`),
})

/** A link. */
export const linkAnswer = z.object({
  url: z
    .string()
    .describe('Opens the console, once. The code is in its fragment, which browsers send nowhere.'),
  code: z.string().meta({ description: 'The code alone.', pattern: '^c1\\.[A-Za-z0-9._-]+$' }),
  expiresAt: isoTime('From when on it opens nothing.'),
})
