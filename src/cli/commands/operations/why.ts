/** Runs `bridge why`: tells the way of one event from upstream to every reader, and why it was late. */
import { durationWords, MINUTE_MS } from '../../../core/durations.ts'
import { fieldsOf, printableText, type ResponseFields, requesterOf } from '../../client/lists.ts'
import type { RefusalWords } from '../../client/refusal.ts'
import { requestFlags, TARGET_HELP } from '../../client/target.ts'
import { command } from '../../terminal/command.ts'
import { londonTime } from '../../terminal/london-time.ts'
import { type Paint, painter } from '../../terminal/text.ts'

const words: RefusalWords = {
  cursorFlag: null,
  help: 'bridge why --help lists the flags and arguments.',
  missing: {
    message: 'does not have this event',
    hint: 'ID is the id or the sequence of an event that is kept: bridge tail --json shows both.',
  },
  noPath: {
    message: 'tells no journeys',
    hint: 'Check --url; the bridge there must have the role api in BRIDGE_ROLES, and be of this version.',
  },
}

/** Width of a time with tenths of a second, and of a length. */
const TIME_WIDTH = 29
const LENGTH_WIDTH = 14

/** Prints the timeline, then the verdict. Rejects if there is no event of this id. */
export const whyCommand = command(
  {
    name: 'why',
    words: ['ID'],
    does: 'why an announcement was late: when each station had it, which polls could have seen it, and the longest step',
    help: `  --json                the response as JSON on stdout
${TARGET_HELP}

  bridge why 934
  bridge why urn:newsml:example:1`,
    flags: requestFlags,
  },
  async ({ values: { json, ...target }, words: [id = ''] }, context) => {
    const { stdout, colour } = context
    const send = requesterOf(target, words, context)
    const answer = await send({ method: 'GET', path: `/v1/disclosures/${encodeURIComponent(id)}/journey` })
    if (json === true) return stdout(JSON.stringify(answer))
    const paint = painter(colour)
    const { sequence, id: eventId, timeline, traceId, notes, verdict } = fieldsOf(answer)
    stdout(paint('strong', `${printableText(eventId)}, sequence ${printableText(sequence)}`))
    for (const entry of listOf(timeline)) stdout(lineOf(fieldsOf(entry), paint))
    if (typeof traceId === 'string') stdout(`Trace: ${printableText(traceId)}`)
    for (const note of listOf(notes)) stdout(paint('soft', `Note: ${printableText(note)}`))
    const { late, text } = fieldsOf(verdict)
    stdout(paint(late === true ? 'alarm' : 'strong', printableText(text)))
  },
)

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

function lineOf({ at, afterMs, text }: ResponseFields, paint: Paint): string {
  const time = momentText(at).padEnd(TIME_WIDTH)
  const after = typeof afterMs === 'number' ? lengthText(afterMs) : ''
  return `${paint('soft', time)}  ${after.padStart(LENGTH_WIDTH)}  ${printableText(text)}`
}

/** London time with milliseconds: the steps of a good journey are shorter than a second. */
function momentText(value: unknown): string {
  const ms = typeof value === 'string' ? Date.parse(value) : Number.NaN
  if (Number.isNaN(ms)) return '–'
  const text = londonTime(ms)
  const thousandths = (((ms % 1000) + 1000) % 1000).toString().padStart(3, '0')
  return `${text.slice(0, -OFFSET_LENGTH)}.${thousandths}${text.slice(-OFFSET_LENGTH)}`
}

/** Of `+01:00`. */
const OFFSET_LENGTH = 6

function lengthText(ms: number): string {
  if (ms < 0) return `-${durationWords(-ms)}`
  return ms < MINUTE_MS ? `+${(ms / 1000).toFixed(3)} s` : `+${durationWords(ms)}`
}
