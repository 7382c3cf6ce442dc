/** Runs `bridge get`: prints one event of a running bridge, by its id or sequence. */
import { fieldsOf, printableText, requesterOf } from '../client/lists.ts'
import type { RefusalWords } from '../client/refusal.ts'
import { requestFlags, TARGET_HELP } from '../client/target.ts'
import { command } from '../terminal/command.ts'
import { eventLine } from '../terminal/event-line.ts'
import { painter } from '../terminal/text.ts'

const words: RefusalWords = {
  cursorFlag: null,
  help: 'bridge get --help lists the flags and arguments.',
  missing: {
    message: 'does not have this event',
    hint: 'ID is the id or the sequence of an event that is kept: bridge tail --json shows both.',
  },
}

/** Members that the line of the event shows, and its text. */
const SHOWN = new Set(['data', 'specversion', 'datacontenttype', 'time'])

/** Prints the event. Rejects if there is none of this id. */
export const getCommand = command(
  {
    name: 'get',
    words: ['ID'],
    does: 'one event by its id or sequence, with its revisions and how it was found',
    help: `  --json                the response as JSON on stdout, with the whole item
${TARGET_HELP}

  bridge get 934`,
    flags: requestFlags,
  },
  async ({ values: { json, ...target }, words: [id = ''] }, context) => {
    const { stdout, colour } = context
    const send = requesterOf(target, words, context)
    const answer = await send({ method: 'GET', path: `/v1/disclosures/${encodeURIComponent(id)}` })
    if (json === true) return stdout(JSON.stringify(answer))
    const event = fieldsOf(answer)
    stdout(eventLine(JSON.stringify(event), painter(colour)))
    for (const [name, value] of Object.entries(event)) {
      if (!SHOWN.has(name)) stdout(`  ${printableText(name).padEnd(15)}${printableText(value) || '–'}`)
    }
  },
)
