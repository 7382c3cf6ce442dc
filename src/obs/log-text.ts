/**
 * Writes a JSON line of the log as one line for a person at a terminal: time, level, event, fields, and for warnings and
 * errors the sentence that explains the event. The stack of an error that the program did not expect follows below it.
 */
import { safeJson } from './safe-json.ts'

const CODES = { debug: '2', info: '32', warn: '33', error: '31', dim: '2', event: '1' } as const
type Tone = keyof typeof CODES

/** Members that have their own place in the line. */
const PLACED = new Set(['level', 'time', 'event', 'msg'])
/** A value that needs no quotes. */
const WORD = /^[\w.:/@+,-]+$/
/** Of an ISO time, the time of day with milliseconds, UTC. */
const TIME_OF_DAY = { from: 11, to: 23 } as const

interface PlacedMembers {
  level: string
  time: string
  event: string
  msg?: string
}

interface ErrorMembers {
  code?: string
  message?: string
  hint?: string
  stack?: string
  cause?: unknown
}

/**
 * The text of a line of JSON, without its end of line. Control characters and those that steer a terminal stay escaped,
 * whatever a value holds.
 */
export function textLine(json: string, hasColour: boolean): string {
  const line = JSON.parse(json) as PlacedMembers & Record<string, unknown>
  const paint = (tone: Tone, text: string): string =>
    hasColour ? `\u001b[${CODES[tone]}m${text}\u001b[0m` : text
  const { level, time, msg } = line
  const isSerious = level !== 'info' && level !== 'debug'
  const fields = Object.entries(line).filter(([name]) => !PLACED.has(name))
  const parts = [
    paint('dim', time.slice(TIME_OF_DAY.from, TIME_OF_DAY.to)),
    paint(level in CODES ? (level as Tone) : 'error', level.toUpperCase().padEnd(5)),
    paint('event', quoted(line.event)),
    ...fields.map(([name, value]) => `${paint('dim', `${name}=`)}${shown(value)}`),
    ...(isSerious && msg !== undefined ? [paint('dim', `· ${escaped(msg)}`)] : []),
  ]
  const stacks = fields.flatMap(([, value]) => stackOf(value))
  return [parts.join(' '), ...stacks.map((step) => paint('dim', `    ${escaped(step)}`))].join('\n')
}

/** An error as its message with code and hint; an object as JSON. */
function shown(value: unknown): string {
  if (!isError(value)) return quoted(value)
  const { code, message, hint, cause } = value
  const named = code === undefined ? quoted(message) : `${quoted(message)} (${escaped(code)})`
  const advice = hint === undefined ? '' : ` hint=${quoted(hint)}`
  return `${named}${advice}${cause === undefined ? '' : ` cause=${shown(cause)}`}`
}

function stackOf(value: unknown): string[] {
  if (!isError(value) || value.stack === undefined) return []
  return value.stack
    .split('\n')
    .slice(1)
    .map((step) => step.trim())
}

function isError(value: unknown): value is ErrorMembers {
  return typeof value === 'object' && value !== null && 'message' in value
}

function quoted(value: unknown): string {
  if (typeof value === 'string' && WORD.test(value)) return value
  return safeJson(JSON.stringify(value) ?? 'null')
}

/** The text without quotes around it, in one line. */
function escaped(text: string): string {
  return safeJson(JSON.stringify(text)).slice(1, -1).replaceAll('\\"', '"')
}
