/**
 * Runs `bridge tokens`: creates, lists and deletes API tokens of a running bridge.
 */
import {
  column,
  fieldsOf,
  printableText,
  type ResponseFields,
  requesterOf,
  timeColumn,
} from '../../client/lists.ts'
import type { RefusalWords } from '../../client/refusal.ts'
import { listCommand, removeCommand } from '../../client/standard-commands.ts'
import { requestFlags, TARGET_HELP } from '../../client/target.ts'
import { command, noun } from '../../terminal/command.ts'
import type { Column } from '../../terminal/table.ts'

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

function orNever({ cell, ...rest }: Column<ResponseFields>, member: string): Column<ResponseFields> {
  return { ...rest, cell: (entry) => (entry[member] === null ? 'never' : cell(entry)) }
}

const columns: readonly Column<ResponseFields>[] = [
  column('ID', 'id', 25),
  column('TENANT', 'tenant', 12),
  timeColumn('CREATED', 'createdAt'),
  orNever(timeColumn('EXPIRES', 'expiresAt'), 'expiresAt'),
  orNever(timeColumn('LAST USED', 'lastUsed'), 'lastUsed'),
  column('NAME', 'name', 16),
  { title: 'SCOPES', cell: scopesOf },
]

const list = listCommand({
  name: 'tokens list',
  does: 'the tokens of your tenant; of all with BRIDGE_ADMIN_TOKEN',
  path: '/v1/tokens',
  words,
  entry: 'token',
  columns,
  none: 'no tokens yet besides BRIDGE_ADMIN_TOKEN',
})

const remove = removeCommand({
  name: 'tokens delete',
  does: 'deletes a token and closes the streams opened with it',
  path: '/v1/tokens',
  words,
  done: 'deleted',
  hint: 'All nodes reject it within one second.',
})

/** Runs the verb. */
export const tokensCommand = noun({
  name: 'tokens',
  does: 'tokens of a running bridge (docs/use/tokens.md)',
  verbs: { create, list, delete: remove },
})

function scopesOf({ scopes }: ResponseFields): string {
  return (Array.isArray(scopes) ? scopes : []).map(printableText).join(',')
}
