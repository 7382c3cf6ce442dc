/**
 * What the verbs of `bridge webhooks` share: the words for refusals, the endpoint that a verb is about, members of answers as
 * text. Refuses to know any verb.
 */
import { readFlagsAndWords } from '../terminal/arguments.ts'
import type { CommandContext } from '../terminal/context.ts'
import { harmless } from '../terminal/text.ts'
import { type Ask, askerFlags, askerOf } from './asker.ts'
import type { RefusalWords } from './refusal.ts'

/** Where endpoints are. */
export const ENDPOINTS_PATH = '/v1/webhooks'

/** What is said of refusals. */
export const endpointWords: RefusalWords = {
  help: 'bridge webhooks --help lists the flags, docs/use/webhooks.md what an endpoint may be.',
  missing: {
    message: 'does not have it',
    hint: 'bridge webhooks list shows the ids; the bridge must have the role api in BRIDGE_ROLES.',
  },
  cursorFlag: '--since',
}

/** The members of an answer. */
export type Fields = Readonly<Record<string, unknown>>

/** The endpoint of a verb. */
export interface AskedEndpoint {
  id: string
  path: string
  json: boolean
  ask: Ask
}

/** The flags and the ID of a verb that takes no flags of its own. @throws BridgeError as `readFlagsAndWords` */
export function readOne(args: string[], context: CommandContext): AskedEndpoint {
  const { values, words } = readFlagsAndWords('webhooks', args, askerFlags, ['ID'])
  return askedEndpoint(values, words, endpointWords, context)
}

/** The endpoint that flags and words name. @throws BridgeError as `askerOf` */
export function askedEndpoint(
  flags: { json?: boolean; url?: string; token?: string },
  [id = '']: readonly string[],
  words: RefusalWords,
  context: CommandContext,
): AskedEndpoint {
  const ask = askerOf(flags, words, context)
  return { id, json: flags.json === true, path: `${ENDPOINTS_PATH}/${encodeURIComponent(id)}`, ask }
}

/** An answer's members; none where it is no object. */
export function fieldsOf(value: unknown): Fields {
  return (value ?? {}) as Fields
}

/** A member of an answer, safe to print: text as it is, anything else as JSON. */
export function textOf(value: unknown): string {
  return harmless(typeof value === 'string' ? value : (JSON.stringify(value) ?? ''))
}
