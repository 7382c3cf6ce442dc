/** Runs `bridge filters test`: shows which of the last events of a running bridge a filter would have matched. */
import { BridgeError } from '../../errors.ts'
import { FILTER_HELP, filterFlags, filterOf } from '../client/filter-flags.ts'
import { fieldsOf, printableText, requesterOf } from '../client/lists.ts'
import type { RefusalWords } from '../client/refusal.ts'
import { requestFlags, TARGET_HELP } from '../client/target.ts'
import { command, noun } from '../terminal/command.ts'
import { EVENT_HEADER, eventLine } from '../terminal/event-line.ts'
import { painter } from '../terminal/text.ts'

const flags = {
  ...filterFlags,
  ...requestFlags,
  last: { type: 'string' },
  limit: { type: 'string' },
} as const

const words: RefusalWords = {
  help: 'bridge filters test --help lists the flags, docs/use/filters.md the fields of a filter.',
  missing: {
    message: 'cannot test filters',
    hint: 'Check --url; the bridge there must have the role api in BRIDGE_ROLES.',
  },
  flags: Object.keys(flags),
}

const test = command(
  {
    name: 'filters test',
    does: 'the newest of the last events that a filter matches, and how many there are',
    help: `Fields and values of docs/use/filters.md, lists comma-separated or repeated:
${FILTER_HELP}
How:
  --last N              how many of the last events to look at, 1 to 100000; default 1000
  --limit N             print at most N, 1 to 1000; default 20
  --json                the response as JSON on stdout
${TARGET_HELP}

  bridge filters test --preset no-routine --last 5000`,
    flags,
  },
  async ({ values }, context) => {
    const body = {
      filter: filterOf(values) ?? {},
      last: numberOf('last', values.last),
      limit: numberOf('limit', values.limit),
    }
    const send = requesterOf(values, words, context)
    const answer = await send({ method: 'POST', path: '/v1/filters/test', body })
    if (values.json === true) return context.stdout(JSON.stringify(answer))
    const { tested, matched, data } = fieldsOf(answer)
    const events: unknown[] = Array.isArray(data) ? data : []
    const paint = painter(context.colour)
    if (events.length > 0) context.stderr(paint('soft', EVENT_HEADER))
    for (const event of events) context.stdout(eventLine(JSON.stringify(event), paint))
    const shown = events.length < Number(matched) ? `, the newest ${events.length} of them above` : ''
    context.stderr(
      `the filter matches ${printableText(matched)} of the last ${printableText(tested)} disclosures${shown}`,
    )
  },
)

/** Runs the verb. */
export const filtersCommand = noun({
  name: 'filters',
  does: 'tries filters on the events of a running bridge (docs/use/filters.md)',
  verbs: { test },
})

/** The bridge checks its range. @throws BridgeError `usage` for text that is not a whole number */
function numberOf(flag: string, text: string | undefined): number | undefined {
  if (text === undefined || /^\d{1,9}$/.test(text)) return text === undefined ? text : Number(text)
  throw new BridgeError('usage', `--${flag} must be a whole number`, { hint: words.help })
}
