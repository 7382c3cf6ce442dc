/**
 * One event of the stream as one line for a person. Owns columns, words and London time. Refuses to trust the text of
 * an item: what could steer a terminal is taken out.
 */
import { readDisclosure } from '../../core/disclosure.ts'
import { AMENDED, GAP_FILLED, GAP_OPENED, type Gap, isGap } from '../../core/event.ts'
import { importances } from '../../core/filter/filter.ts'
import { harmless, type Paint, type Tone } from './text.ts'

/** The members of an event that a line is made from. */
interface ShownEvent {
  type: string
  time: string
  late?: string
  replacesid?: string
  data: unknown
}

/** Swedish writes dates in the order of ISO 8601. */
const londonTime = new Intl.DateTimeFormat('sv-SE', {
  timeZone: 'Europe/London',
  dateStyle: 'short',
  timeStyle: 'medium',
})
const NONE = '–'
const TONES: Readonly<Record<string, Tone>> = { ultra: 'alarm', high: 'strong', low: 'soft' }
const CAUSES: Readonly<Record<string, string>> = {
  overflow: 'a poll left items out',
  cursor_refused: 'the upstream refused the cursor',
  outage: 'nobody polled',
  epoch: 'the log was started afresh',
  retention: 'what came before is no longer kept',
}

/** The line of an event's JSON; what cannot be read is shown as it came. */
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
  const stretch = `${at(from)} to ${at(to)}`
  const why = CAUSES[cause] ?? harmless(String(cause))
  const words =
    event.type === GAP_OPENED
      ? `GAP  items may be missing from ${stretch}: ${why}`
      : event.type === GAP_FILLED
        ? `GAP  filled from ${stretch}, ${found} items found`
        : `GAP  given up from ${stretch}, ${found} items found: ${why}`
  return `${at(event.time)}  ${paint(event.type === GAP_FILLED ? 'strong' : 'alarm', words)}`
}

/** Text in a column of that width; longer text pushes the rest aside. */
function column(text: string, width: number): string {
  return (text === '' ? NONE : harmless(text)).padEnd(width)
}

/** London time, e.g. `2026-02-03 07:00:01`; text that is no time as it came. */
function at(time: string): string {
  const ms = Date.parse(time)
  return Number.isNaN(ms) ? harmless(String(time)) : londonTime.format(ms)
}
