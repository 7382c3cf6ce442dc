/**
 * Formats an event as one line of aligned columns in London time, with its offset; control characters are replaced.
 */
import { readDisclosure } from '../../core/disclosure.ts'
import { AMENDED, GAP_FILLED, GAP_OPENED, type Gap, isGap } from '../../core/event.ts'
import { importances } from '../../core/filter/filter.ts'
import { textOf } from '../../errors.ts'
import { londonTimeOf } from './london-time.ts'
import { counted, harmless, type Paint, type Tone } from './text.ts'

/** The members of an event that a line shows. */
interface ShownEvent {
  type: string
  time: string
  late?: string
  replacesid?: string
  data: unknown
}

const NONE = '–'
const TONES: Readonly<Record<string, Tone>> = { ultra: 'alarm', high: 'strong', low: 'soft' }
const CAUSES: Readonly<Record<string, string>> = {
  overflow: 'a poll did not reach all items',
  cursor_refused: 'the upstream refused the cursor',
  outage: 'no bridge was polling',
  epoch: 'the log was created anew or restored',
  retention: 'earlier events are no longer kept',
}

/** The titles over the columns of `eventLine`. */
export const EVENT_HEADER = 'TIME (LONDON)              CODES    LEVEL   SYMBOL  HEADLINE · ISSUER'

/** The line of an event's JSON; text that is not an event is shown as it is. */
export function eventLine(json: string, paint: Paint): string {
  let event: ShownEvent
  try {
    event = JSON.parse(json) as ShownEvent
    return isGap(event.type) ? gapLine(event, paint) : disclosureLine(event, paint)
  } catch {
    return harmless(json)
  }
}

function disclosureLine(event: ShownEvent, paint: Paint): string {
  const read = readDisclosure(event.data)
  if (!read.ok) return harmless(JSON.stringify(event))
  const { categories, issuer, headline } = read.disclosure
  const fca = categories.filter(({ kind }) => kind === 'FCA')
  const codes = (fca.length > 0 ? fca : categories).map(({ code }) => code)
  const level = importances.findLast((one) => fca.some(({ importance }) => importance === one))
  const notes = [
    ...(event.type === AMENDED ? ['amended'] : []),
    ...(event.late === undefined ? [] : ['late']),
    ...(event.replacesid === undefined ? [] : ['replaces an earlier one']),
  ]
  const what = [
    column([...new Set(codes)].join(','), 7),
    column(level ?? '', 6),
    column(issuer.symbol ?? '', 6),
    harmless(headline).trim(),
  ].join('  ')
  const who = issuer.name === null ? '' : paint('soft', ` · ${harmless(issuer.name)}`)
  const note = notes.length === 0 ? '' : paint('strong', ` (${notes.join(', ')})`)
  return `${at(event.time)}  ${paint(TONES[level ?? ''] ?? 'plain', what)}${who}${note}`
}

function gapLine(event: ShownEvent, paint: Paint): string {
  const { from, to, cause, found } = event.data as Gap
  const range = `${at(from)} to ${at(to)}`
  const why = CAUSES[cause] ?? harmless(textOf(cause))
  const words =
    event.type === GAP_OPENED
      ? `GAP  items may be missing from ${range}: ${why}`
      : event.type === GAP_FILLED
        ? `GAP  filled from ${range}, ${counted(found, 'item')} found`
        : `GAP  given up from ${range}, ${counted(found, 'item')} found: ${why}`
  return `${at(event.time)}  ${paint(event.type === GAP_FILLED ? 'strong' : 'alarm', words)}`
}

/** Text in a column of that width; longer text pushes the rest aside. */
function column(text: string, width: number): string {
  return (text === '' ? NONE : harmless(text)).padEnd(width)
}

/** London time; text that is not a time is returned as it is. */
function at(time: string): string {
  return londonTimeOf(time) ?? harmless(textOf(time))
}
