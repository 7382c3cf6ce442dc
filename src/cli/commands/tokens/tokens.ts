/**
 * Runs `bridge tokens`: creates, lists and deletes API tokens of a running bridge.
 */

import {
  column,
  fieldsOf,
  printableText,
  printList,
  type ResponseFields,
  requesterOf,
} from '../../client/lists.ts'
import type { RefusalWords } from '../../client/refusal.ts'
import { requestFlags, TARGET_HELP } from '../../client/target.ts'
import { command, noun } from '../../terminal/command.ts'
import type { Column } from '../../terminal/table.ts'
import { harmless } from '../../terminal/text.ts'

const createFlags = {
  ...requestFlags,
  tenant: { type: 'string' },
  scopes: { type: 'string', multiple: true },
  name: { type: 'string' },
  'expires-at': { type: 'string' },
} as const

const words: RefusalWords = {
  help: 'bridge tokens create --help lists the flags; docs/use/tokens.md explains scopes.',
  flags: Object.keys(createFlags),
  missing: {
    message: 'does not have this token',
    hint: 'bridge tokens list shows the ids; the bridge must have the role api in BRIDGE_ROLES.',
  },
}

const create = command(
  {
    name: 'tokens create',
    does: 'creates a token; prints its text, once',
    help: `  --tenant NAME         the tenant it belongs to; required
  --scopes LIST         what it may do, separated by commas or repeated; required:
                        events:read, webhooks:read, webhooks:write, webhooks:replay, admin
  --name TEXT           what it is for
  --expires-at TIME     when it expires, e.g. 2027-01-31T12:00:00Z
  --json                the response as JSON on stdout
${TARGET_HELP}

  bridge tokens create --tenant desk --scopes events:read --name dashboards > desk.token`,
    flags: createFlags,
  },
  async ({ values }, context) => {
    const { tenant, name, 'expires-at': expiresAt } = values
    const scopes = values.scopes?.flatMap((list) => list.split(','))
    const body = { tenant, scopes, name, expiresAt }
    const answer = await requesterOf(values, words, context)({ method: 'POST', path: '/v1/tokens', body })
    const made = fieldsOf(answer)
    context.stdout(values.json === true ? JSON.stringify(answer) : printableText(made.token))
    const end = made.expiresAt === null ? 'until it is deleted' : `until ${printableText(made.expiresAt)}`
    context.stderr(
      `created ${printableText(made.id)} of the tenant ${printableText(made.tenant)} for ${scopesOf(made)}, ${end}`,
    )
    context.stderr('its text is shown only once: the bridge keeps only a hash')
  },
)

const columns: readonly Column<ResponseFields>[] = [
  column('ID', 'id', 25),
  column('TENANT', 'tenant', 12),
  column('CREATED', 'createdAt', 24),
  { title: 'EXPIRES', width: 24, cell: ({ expiresAt }) => printableText(expiresAt ?? 'never') },
  { title: 'LAST USED', width: 24, cell: ({ lastUsed }) => printableText(lastUsed ?? 'never') },
  column('NAME', 'name', 16),
  { title: 'SCOPES', cell: scopesOf },
]

const list = command(
  {
    name: 'tokens list',
    does: 'the tokens of your tenant; of all with BRIDGE_ADMIN_TOKEN',
    help: `  --json                one line of JSON per token\n${TARGET_HELP}`,
    flags: requestFlags,
  },
  async ({ values: { json, ...target } }, context) => {
    const none = 'no tokens yet besides BRIDGE_ADMIN_TOKEN'
    await printList(requesterOf(target, words, context), '/v1/tokens', { json, columns, none }, context)
  },
)

const remove = command(
  {
    name: 'tokens delete',
    words: ['ID'],
    does: 'deletes a token and closes the streams opened with it',
    help: `  --json                {"id":…,"deleted":true} on stdout\n${TARGET_HELP}`,
    flags: requestFlags,
  },
  async ({ values, words: [id = ''] }, context) => {
    const send = requesterOf(values, words, context)
    await send({ method: 'DELETE', path: `/v1/tokens/${encodeURIComponent(id)}` })
    if (values.json === true) context.stdout(JSON.stringify({ id, deleted: true }))
    context.stderr(`deleted ${harmless(id)}. All nodes reject it within one second.`)
  },
)

/** Runs the verb. */
export const tokensCommand = noun({
  name: 'tokens',
  does: 'tokens of a running bridge (docs/use/tokens.md)',
  verbs: { create, list, delete: remove },
})

function scopesOf({ scopes }: ResponseFields): string {
  return (Array.isArray(scopes) ? scopes : []).map(printableText).join(',')
}
