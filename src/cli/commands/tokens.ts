/**
 * Runs `bridge tokens`: creates, lists and deletes API tokens of a running bridge.
 */

import type { RefusalWords } from '../client/refusal.ts'
import { chosenVerb, entriesOf, requesterOf, requestFlags } from '../client/verbs.ts'
import { asksForHelp, readFlags, readFlagsAndWords } from '../terminal/arguments.ts'
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
  --token TOKEN         default BRIDGE_ADMIN_TOKEN, which other users of this machine cannot see

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

/** The members of a token that are shown; empty where absent. */
interface Shown {
  id: string
  token: string
  tenant: string
  scopes: string
  name: string
  expiresAt: string
  lastUsed: string
}

const verbs = { create, list, delete: remove } as const

/** Runs the verb. */
export async function tokensCommand(args: string[], context: CommandContext): Promise<void> {
  if (asksForHelp(args)) {
    context.stdout(HELP)
    return
  }
  const [verb, ...rest] = args
  await chosenVerb('tokens', verb, verbs)(rest, context)
}

async function create(args: string[], context: CommandContext): Promise<void> {
  const flags = readFlags('tokens create', args, createFlags)
  const { tenant, name, 'expires-at': expiresAt } = flags
  const scopes = flags.scopes?.flatMap((list) => list.split(','))
  const body = { tenant, scopes, name, expiresAt }
  const answer = await requesterOf(flags, words, context)({ method: 'POST', path: '/v1/tokens', body })
  const made = shown(answer)
  context.stdout(flags.json === true ? JSON.stringify(answer) : made.token)
  const end = made.expiresAt === '' ? 'until it is deleted' : `until ${made.expiresAt}`
  context.stderr(`created ${made.id} of the tenant ${made.tenant} for ${made.scopes}, ${end}`)
  context.stderr('its text is shown only once: the bridge keeps only a hash')
}

async function list(args: string[], context: CommandContext): Promise<void> {
  const flags = readFlags('tokens list', args, requestFlags)
  let count = 0
  for await (const token of entriesOf(requesterOf(flags, words, context), '/v1/tokens', context)) {
    context.stdout(flags.json === true ? JSON.stringify(token) : lineOf(shown(token)))
    count += 1
  }
  if (count === 0) context.stderr('no tokens yet besides BRIDGE_ADMIN_TOKEN')
}

async function remove(args: string[], context: CommandContext): Promise<void> {
  const { values, words: given } = readFlagsAndWords('tokens delete', args, requestFlags, ['ID'])
  const [id = ''] = given
  await requesterOf(
    values,
    words,
    context,
  )({ method: 'DELETE', path: `/v1/tokens/${encodeURIComponent(id)}` })
  context.stderr(`deleted ${harmless(id)}. All nodes reject it within one second.`)
}

function lineOf({ id, tenant, scopes, name, expiresAt, lastUsed }: Shown): string {
  const until = expiresAt === '' ? 'no end' : `until ${expiresAt}`
  const used = lastUsed === '' ? 'never used' : `used ${lastUsed}`
  return [id, tenant.padEnd(12), scopes, until, used, name].filter((part) => part !== '').join('  ')
}

function shown(value: unknown): Shown {
  const fields = (value ?? {}) as Readonly<Record<string, unknown>>
  const text = (field: unknown): string => (typeof field === 'string' ? harmless(field) : '')
  return {
    id: text(fields.id),
    token: text(fields.token),
    tenant: text(fields.tenant),
    scopes: (Array.isArray(fields.scopes) ? fields.scopes : []).map(text).join(','),
    name: text(fields.name),
    expiresAt: text(fields.expiresAt),
    lastUsed: text(fields.lastUsed),
  }
}
