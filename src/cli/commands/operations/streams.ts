/** Runs `bridge streams`: lists the open streams of a running bridge, and ends one. */
import { column, fieldsOf, printableText, type ResponseFields, timeColumn } from '../../client/lists.ts'
import type { RefusalWords } from '../../client/refusal.ts'
import { listCommand, removeCommand } from '../../client/standard-commands.ts'
import { noun } from '../../terminal/command.ts'
import type { Column } from '../../terminal/table.ts'

const words: RefusalWords = {
  help: 'bridge streams --help lists the verbs.',
  missing: {
    message: 'does not have this stream',
    hint: 'bridge streams list shows the ids, each node its own; the bridge must have the role feed in BRIDGE_ROLES.',
  },
}

/** Characters of filters in a row. */
const LONGEST_FILTERS = 80

const columns: readonly Column<ResponseFields>[] = [
  column('ID', 'id', 36),
  column('WAY', 'transport', 3),
  column('TENANT', 'tenant', 12),
  {
    title: 'TOKEN',
    width: 25,
    cell: ({ token }) => printableText(fieldsOf(token).name ?? fieldsOf(token).id),
  },
  timeColumn('OPENED', 'openedAt'),
  { title: 'BEHIND', width: 16, cell: behindOf },
  {
    ...timeColumn('SLOW SINCE', 'slowSince'),
    tone: ({ slowSince }) => (slowSince === null ? 'plain' : 'strong'),
  },
  { title: 'FILTERS', cell: filtersOf },
]

function subscriptionsOf({ subscriptions }: ResponseFields): ResponseFields[] {
  return Array.isArray(subscriptions) ? subscriptions.map(fieldsOf) : []
}

/** Their beginning: `--json` has all of it. */
function filtersOf(stream: ResponseFields): string {
  const text = subscriptionsOf(stream)
    .map(({ filter }) => printableText(filter))
    .join(' ')
  return text.length > LONGEST_FILTERS ? `${text.slice(0, LONGEST_FILTERS)}…` : text
}

/** The largest lag of its subscriptions. */
function behindOf(stream: ResponseFields): string {
  const lags = subscriptionsOf(stream)
    .filter(({ lagEvents }) => typeof lagEvents === 'number')
    .sort((one, other) => Number(other.lagEvents) - Number(one.lagEvents))
  const [most] = lags
  if (most === undefined) return ''
  const age = typeof most.lagSeconds === 'number' ? `, ${Math.round(most.lagSeconds)} s` : ''
  return `${most.lagEvents} events${age}`
}

const list = listCommand({
  name: 'streams list',
  does: 'the open streams of the node that answers; of your tenant, or of all with BRIDGE_ADMIN_TOKEN',
  path: '/v1/streams',
  words,
  entry: 'stream',
  columns,
  none: 'no stream is open on this node',
})

const end = removeCommand({
  name: 'streams end',
  does: 'ends a stream; its WebSocket client does not come back by itself',
  path: '/v1/streams',
  words,
  done: 'ended',
  hint: 'To keep its client out, delete its token.',
})

/** Runs the verb. */
export const streamsCommand = noun({
  name: 'streams',
  does: 'open streams of a running bridge (docs/use/open-streams.md)',
  verbs: { list, end },
})
