/**
 * Runs `bridge tokens`: creates, lists and deletes API tokens of a running bridge.
 */
import type { RefusalWords } from '../client/refusal.ts'
import { requestFlags } from '../client/target.ts'
import {
  chosenVerb,
  fieldsOf,
  printableText,
  printList,
  type ResponseFields,
  requesterOf,
} from '../client/verbs.ts'

import { readFlags, readFlagsAndWords, withHelp } from '../terminal/arguments.ts'
import type { CommandContext } from '../terminal/context.ts'
import { harmless } from '../terminal/text.ts'

const HELP = `bridge tokens: tokens of a running bridge (docs/use/tokens.md)

  bridge tokens create --tenant NAME --scopes LIST [--name TEXT] [--expires-at TIME]
                        creates one; prints its text, once
  bridge tokens list    those of your tenant; of all with BRIDGE_ADMIN_TOKEN
  bridge tokens delete ID
                        deletes one and closes the streams opened with it

  --tenant NAME         the tenant it belongs to
  --scopes LIST         what it may do, separated by commas or repeated:
                        events:read, webhooks:read, webhooks:write, webhooks:replay, admin
  --name TEXT           what it is for
  --expires-at TIME     when it expires, e.g. 2027-01-31T12:00:00Z
  --json                the response as JSON on stdout, one line per token
  --url URL             its address; default: BRIDGE_HTTP_HOST and BRIDGE_HTTP_PORT
  --token-file FILE     file with the token; default: BRIDGE_TOKEN, else BRIDGE_ADMIN_TOKEN
  --profile FILE        file with BRIDGE_URL and BRIDGE_TOKEN, read in place of the environment
  --token TOKEN         the token itself, which other users of this machine can see

  bridge tokens create --tenant desk --scopes events:read --name dashboards > desk.token`

const createFlags = {
  ...requestFlags,
  tenant: { type: 'string' },
  scopes: { type: 'string', multiple: true },
  name: { type: 'string' },
  'expires-at': { type: 'string' },
} as const

const words: RefusalWords = {
  help: 'bridge tokens --help lists the flags; docs/use/tokens.md explains scopes.',
  flags: Object.keys(createFlags),
  missing: {
    message: 'does not have this token',
    hint: 'bridge tokens list shows the ids; the bridge must have the role api in BRIDGE_ROLES.',
  },
}

const verbs = { create, list, delete: remove } as const

/** Runs the verb. */
export const tokensCommand = withHelp(HELP, async (args, context) => {
  const [verb, ...rest] = args
  await chosenVerb('tokens', verb, verbs)(rest, context)
})

async function create(args: string[], context: CommandContext): Promise<void> {
  const flags = readFlags('tokens create', args, createFlags)
  const { tenant, name, 'expires-at': expiresAt } = flags
  const scopes = flags.scopes?.flatMap((list) => list.split(','))
  const body = { tenant, scopes, name, expiresAt }
  const answer = await requesterOf(flags, words, context)({ method: 'POST', path: '/v1/tokens', body })
  const made = fieldsOf(answer)
  context.stdout(flags.json === true ? JSON.stringify(answer) : printableText(made.token))
  const end = made.expiresAt === null ? 'until it is deleted' : `until ${printableText(made.expiresAt)}`
  context.stderr(
    `created ${printableText(made.id)} of the tenant ${printableText(made.tenant)} for ${scopesOf(made)}, ${end}`,
  )
  context.stderr('its text is shown only once: the bridge keeps only a hash')
}

async function list(args: string[], context: CommandContext): Promise<void> {
  const flags = readFlags('tokens list', args, requestFlags)
  const none = 'no tokens yet besides BRIDGE_ADMIN_TOKEN'
  const send = requesterOf(flags, words, context)
  await printList(send, '/v1/tokens', { json: flags.json, line: lineOf, none }, context)
}

async function remove(args: string[], context: CommandContext): Promise<void> {
  const { values, words: given } = readFlagsAndWords('tokens delete', args, requestFlags, ['ID'])
  const [id = ''] = given
  const send = requesterOf(values, words, context)
  await send({ method: 'DELETE', path: `/v1/tokens/${encodeURIComponent(id)}` })
  context.stderr(`deleted ${harmless(id)}. All nodes reject it within one second.`)
}

function lineOf(token: ResponseFields): string {
  const { id, tenant, name, expiresAt, lastUsed } = token
  return [
    printableText(id),
    printableText(tenant).padEnd(12),
    scopesOf(token),
    expiresAt === null ? 'no end' : `until ${printableText(expiresAt)}`,
    lastUsed === null ? 'never used' : `used ${printableText(lastUsed)}`,
    printableText(name),
  ]
    .filter((part) => part !== '')
    .join('  ')
}

function scopesOf({ scopes }: ResponseFields): string {
  return (Array.isArray(scopes) ? scopes : []).map(printableText).join(',')
}
