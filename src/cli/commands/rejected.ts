/** Runs `bridge rejected`: lists the upstream items that the bridge could not read, and prints them as they came. */
import {
  column,
  LIMIT_HELP,
  limitOf,
  printableText,
  printList,
  type ResponseFields,
  requesterOf,
  timeColumn,
} from '../client/lists.ts'
import type { RefusalWords } from '../client/refusal.ts'
import { requestFlags, TARGET_HELP } from '../client/target.ts'
import { command } from '../terminal/command.ts'
import type { Column } from '../terminal/table.ts'
import { counted } from '../terminal/text.ts'

const words: RefusalWords = {
  help: 'bridge rejected --help lists the flags.',
  missing: {
    message: 'does not list rejected items',
    hint: 'Check --url; the bridge there must have the role api in BRIDGE_ROLES.',
  },
}

const columns: readonly Column<ResponseFields>[] = [
  timeColumn('SET ASIDE', 'recordedtime'),
  { title: 'BYTES', width: 7, isNumber: true, cell: ({ raw }) => bytesOf(raw) },
  column('GUID', 'guid', 36),
  column('REASON', 'reason'),
]

/** Prints the rejected items, newest first. Rejects if no bridge answers or the request fails. */
export const rejectedCommand = command(
  {
    name: 'rejected',
    does: 'items that could not be read, newest first; none of them is an event',
    help: `  --raw                 the items as they came, one on a line, in place of the table;
                        control characters are replaced, --json keeps them
${LIMIT_HELP}
  --json                one line of JSON per item, with its text
${TARGET_HELP}

  bridge rejected --raw --limit 1`,
    flags: { ...requestFlags, raw: { type: 'boolean' }, limit: { type: 'string' } },
  },
  async ({ values: { json, raw, limit, ...target } }, context) => {
    const most = limitOf('rejected', limit)
    const none = 'no rejected items: every item could be read'
    const line = raw === true ? (entry: ResponseFields) => printableText(entry.raw) : undefined
    const output = { json, columns, line, none, foot: droppedLine, most }
    await printList(requesterOf(target, words, context), '/v1/rejected', output, context)
  },
)

function droppedLine({ dropped }: ResponseFields): string | null {
  if (typeof dropped !== 'number' || dropped === 0) return null
  return `${counted(dropped, 'older item')} no longer kept`
}

function bytesOf(raw: unknown): string {
  return typeof raw === 'string' ? Buffer.byteLength(raw).toString() : ''
}
