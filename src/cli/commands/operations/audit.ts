/** Runs `bridge audit`: lists who changed what on a running bridge. */
import {
  column,
  fieldsOf,
  LIMIT_HELP,
  limitOf,
  printableText,
  printList,
  type ResponseFields,
  requesterOf,
  timeColumn,
} from '../../client/lists.ts'
import type { RefusalWords } from '../../client/refusal.ts'
import { requestFlags, TARGET_HELP } from '../../client/target.ts'
import { command } from '../../terminal/command.ts'
import type { Column } from '../../terminal/table.ts'

const NAME = 'audit'
/** Flags that are parameters of the route. */
const filterFlags = {
  actor: { type: 'string' },
  action: { type: 'string' },
  target: { type: 'string' },
  since: { type: 'string' },
  until: { type: 'string' },
} as const
const flags = { ...requestFlags, ...filterFlags, limit: { type: 'string' } } as const

const words: RefusalWords = {
  help: 'bridge audit --help lists the flags; docs/run/audit.md lists the actions.',
  flags: Object.keys(filterFlags),
  missing: {
    message: 'does not list changes',
    hint: 'Check --url; the bridge there must have the role api in BRIDGE_ROLES, and be of this version.',
  },
}

const columns: readonly Column<ResponseFields>[] = [
  timeColumn('TIME', 'at'),
  column('ACTION', 'action', 28),
  {
    title: 'OUTCOME',
    width: 8,
    cell: ({ outcome }) => printableText(outcome),
    tone: ({ outcome }) => (outcome === 'done' ? 'plain' : 'alarm'),
  },
  { title: 'BY', width: 25, cell: ({ actor }) => byOf(fieldsOf(actor)) },
  column('FROM', 'address', 20),
  column('TARGET', 'target', 24),
  column('TENANT', 'tenant', 12),
  { title: 'CHANGE', cell: changeOf },
]

function byOf({ token, name }: ResponseFields): string {
  return printableText(name) || printableText(token)
}

/** `status: active → paused`; of a failed change its code. */
function changeOf({ before, after, code }: ResponseFields): string {
  if (code !== null && code !== undefined) return printableText(code)
  const [was, is] = [fieldsOf(before), fieldsOf(after)]
  const names = [...new Set([...Object.keys(was), ...Object.keys(is)])]
  return names.map((name) => `${printableText(name)}: ${arrowOf(was, is, name)}`).join(', ')
}

function arrowOf(was: ResponseFields, is: ResponseFields, name: string): string {
  const shown = (value: unknown): string => (value === null ? 'null' : printableText(value))
  if (!(name in was)) return shown(is[name])
  return name in is ? `${shown(was[name])} → ${shown(is[name])}` : `${shown(was[name])} →`
}

/** Prints a row per change, the newest first. Rejects if no bridge answers or the token may not ask. */
export const auditCommand = command(
  {
    name: NAME,
    does: 'who changed what, from where and when, the newest first',
    help: `  --actor ID            only changes by the token of this id; settings is BRIDGE_ADMIN_TOKEN
  --action NAME         only this action, e.g. token.created
  --target ID           only changes of what has this id
  --since TIME          only from this date or time on
  --until TIME          only up to this date or time
${LIMIT_HELP}
  --json                one line of JSON per entry
${TARGET_HELP}

  bridge audit --action webhook.updated --since 2026-11-01`,
    flags,
  },
  async ({ values: { json, limit, actor, action, target, since, until, ...to } }, context) => {
    const given = Object.entries({ actor, action, target, since, until })
    const query = new URLSearchParams()
    for (const [name, text] of given) if (text !== undefined) query.set(name, text)
    const path = `/v1/audit${query.size === 0 ? '' : `?${query}`}`
    const output = { json, columns, none: 'no change is recorded', most: limitOf(NAME, limit) }
    await printList(requesterOf(to, words, context), path, output, context)
  },
)
