/**
 * `bridge tokens`: makes, lists and deletes tokens of a running bridge. Owns its verbs and flags, and what goes to stdout
 * and stderr: a new token's text is data, everything said about it is not. Refuses to judge what is asked for: the bridge
 * does, and its words are passed on.
 */

import { askerFlags, askerOf, chosenVerb, entriesOf } from '../client/asker.ts'
import type { RefusalWords } from '../client/refusal.ts'
import { asksForHelp, readFlags, readFlagsAndWords } from '../terminal/arguments.ts'
import type { CommandContext } from '../terminal/context.ts'
import { harmless } from '../terminal/text.ts'

const HELP = `bridge tokens: tokens of a running bridge (docs/use/tokens.md)

  bridge tokens create --tenant NAME --scopes LIST [--name TEXT] [--expires-at TIME]
                        makes one: its text on stdout, this once
  bridge tokens list    those of your tenant; with BRIDGE_ADMIN_TOKEN those of all
  bridge tokens delete ID
                        ends one, and the streams that were opened with it

  --tenant NAME         whose it is
  --scopes LIST         what it may do, comma-separated or repeated:
                        events:read, webhooks:read, webhooks:write, webhooks:replay, admin
  --name TEXT           what it is for
  --expires-at TIME     from when on it is no longer valid, e.g. 2027-01-31T12:00:00Z
  --json                the answer as JSON on stdout, one token a line
  --url URL             its address; default: BRIDGE_HTTP_HOST and BRIDGE_HTTP_PORT
  --token TOKEN         default BRIDGE_ADMIN_TOKEN, which other users of this machine cannot see

  bridge tokens create --tenant desk --scopes events:read --name dashboards > desk.token`

const createFlags = {
  ...askerFlags,
  tenant: { type: 'string' },
  scopes: { type: 'string', multiple: true },
  name: { type: 'string' },
  'expires-at': { type: 'string' },
} as const

const words: RefusalWords = {
  help: 'bridge tokens --help lists the flags, docs/use/tokens.md what a token may do.',
  missing: {
    message: 'does not have it',
    hint: 'bridge tokens list shows the ids; the bridge must have the role api in BRIDGE_ROLES.',
  },
}

/** What is read of a token; a text that is absent is empty. */
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

/** Does what the verb says. */
export async function tokensCommand(args: string[], context: CommandContext): Promise<void> {
  if (asksForHelp(args)) {
    context.stdout(HELP)
    return
  }
  const [verb, ...rest] = args
  await chosenVerb('tokens', verb, verbs)(rest, context)
}

async function create(args: string[], context: CommandContext): Promise<void> {
  const flags = readFlags('tokens', args, createFlags)
  const { tenant, name, 'expires-at': expiresAt } = flags
  const scopes = flags.scopes?.flatMap((list) => list.split(','))
  const body = { tenant, scopes, name, expiresAt }
  const answer = await askerOf(flags, words, context)({ method: 'POST', path: '/v1/tokens', body })
  const made = shown(answer)
  context.stdout(flags.json === true ? JSON.stringify(answer) : made.token)
  const end = made.expiresAt === '' ? 'until it is deleted' : `until ${made.expiresAt}`
  context.stderr(`made ${made.id} of the tenant ${made.tenant} for ${made.scopes}, ${end}`)
  context.stderr('its text is shown this once: the bridge keeps only a hash')
}

async function list(args: string[], context: CommandContext): Promise<void> {
  const flags = readFlags('tokens', args, askerFlags)
  let count = 0
  for await (const token of entriesOf(askerOf(flags, words, context), '/v1/tokens', context)) {
    context.stdout(flags.json === true ? JSON.stringify(token) : lineOf(shown(token)))
    count += 1
  }
  if (count === 0) context.stderr('there is no token yet besides BRIDGE_ADMIN_TOKEN')
}

async function remove(args: string[], context: CommandContext): Promise<void> {
  const { values, words: given } = readFlagsAndWords('tokens', args, askerFlags, ['ID'])
  const [id = ''] = given
  await askerOf(values, words, context)({ method: 'DELETE', path: `/v1/tokens/${encodeURIComponent(id)}` })
  context.stderr(`deleted ${harmless(id)}; within a second it is good on no node`)
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
