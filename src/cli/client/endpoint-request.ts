/**
 * Shared by the verbs of `bridge webhooks`: texts for refusals, requests about one endpoint, response members as text.
 */
import { ENDPOINTS_PATH } from '../../core/endpoint-status.ts'
import { readFlagsAndWords } from '../terminal/arguments.ts'
import type { CommandContext } from '../terminal/context.ts'
import { harmless } from '../terminal/text.ts'
import { endpointFlags } from './endpoint-flags.ts'
import type { RefusalWords } from './refusal.ts'
import { requesterOf, requestFlags, type SendRequest } from './verbs.ts'

/** Texts for refusals. */
export const endpointWords: RefusalWords = {
  help: 'bridge webhooks --help lists the flags; docs/use/webhooks.md explains endpoints.',
  missing: {
    message: 'does not have this endpoint',
    hint: 'bridge webhooks list shows the ids; the bridge must have the role api in BRIDGE_ROLES.',
  },
  cursorFlag: '--since',
  flags: [...Object.keys(endpointFlags), 'after', 'until', 'ids', 'dead', 'outcome', 'state', 'limit'],
}

/** The members of a response. */
export type ResponseFields = Readonly<Record<string, unknown>>

/** The endpoint that a verb is about. */
export interface NamedEndpoint {
  id: string
  path: string
  json: boolean
  send: SendRequest
}

/** The flags and the ID of a verb that takes no flags of its own. @throws BridgeError as `readFlagsAndWords` */
export function readOne(verb: string, args: string[], context: CommandContext): NamedEndpoint {
  const { values, words } = readFlagsAndWords(`webhooks ${verb}`, args, requestFlags, ['ID'])
  return namedEndpoint(values, words, endpointWords, context)
}

/** The endpoint that flags and words name. @throws BridgeError as `requesterOf` */
export function namedEndpoint(
  flags: { json?: boolean; url?: string; token?: string },
  [id = '']: readonly string[],
  words: RefusalWords,
  context: CommandContext,
): NamedEndpoint {
  const send = requesterOf(flags, words, context)
  return { id, json: flags.json === true, path: `${ENDPOINTS_PATH}/${encodeURIComponent(id)}`, send }
}

/** A response's members; none where it is null. */
export function fieldsOf(value: unknown): ResponseFields {
  return (value ?? {}) as ResponseFields
}

/** A member of a response, safe to print: text as it is, anything else as JSON. */
export function printableText(value: unknown): string {
  return harmless(typeof value === 'string' ? value : (JSON.stringify(value) ?? ''))
}
