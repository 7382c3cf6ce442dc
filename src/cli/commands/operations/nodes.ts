/** Runs `bridge nodes`: lists the processes that share the log of a running bridge. */
import { column, fieldsOf, printableText, type ResponseFields, timeColumn } from '../../client/lists.ts'
import type { RefusalWords } from '../../client/refusal.ts'
import { listCommand } from '../../client/standard-commands.ts'
import type { Column } from '../../terminal/table.ts'

const words: RefusalWords = {
  help: 'bridge nodes --help lists the flags.',
  missing: {
    message: 'does not list nodes',
    hint: 'Check --url; the bridge there must have the role api in BRIDGE_ROLES, and be of this version.',
  },
}

const columns: readonly Column<ResponseFields>[] = [
  {
    title: 'NODE',
    width: 24,
    cell: ({ id, self }) => `${printableText(id)}${self === true ? ' (asked)' : ''}`,
  },
  {
    title: 'STATE',
    width: 9,
    cell: ({ state, leads }) => (leads === true ? 'leads' : printableText(state)),
    tone: ({ state }) => (state === 'gone' ? 'alarm' : 'plain'),
  },
  column('VERSION', 'version', 8),
  timeColumn('STARTED', 'startedAt'),
  timeColumn('LAST SEEN', 'lastSeen'),
  { title: 'COPY', width: 10, cell: ({ copy }) => printableText(fieldsOf(copy).sequence) },
  { title: 'BEHIND', width: 16, cell: behindOf },
  { title: 'ROLES', cell: ({ roles }) => (Array.isArray(roles) ? roles.map(printableText).join(',') : '') },
]

function behindOf({ copy }: ResponseFields): string {
  const { lagEvents, lagSeconds } = fieldsOf(copy)
  if (typeof lagEvents !== 'number' || typeof lagSeconds !== 'number') return ''
  return `${lagEvents} events, ${Math.round(lagSeconds)} s`
}

/** Prints a row per node. Rejects if no bridge answers or the token may not ask. */
export const nodesCommand = listCommand({
  name: 'nodes',
  does: 'the processes that share the log: state, version, roles, how far each copy is',
  path: '/v1/nodes',
  words,
  entry: 'node',
  columns,
  none: 'no node is known',
})
