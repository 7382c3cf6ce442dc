/**
 * Writes the process log: one line per event on stderr, JSON or text, with a sentence that explains the event as `msg`. Fields
 * that are not on the allow-list are dropped; known secrets and the query strings of URLs are removed from every text, and
 * characters that steer a terminal are escaped.
 */
import pino from 'pino'
import { BridgeError, textOf } from '../errors.ts'
import { eventMeaning, type LogEvent } from './log-events.ts'
import { type LogField, logFields } from './log-fields.ts'
import { textLine } from './log-text.ts'
import { safeJson } from './safe-json.ts'

/** Fields of a line. Other names, which the compiler does not see in every object, are dropped. */
export type LogFields = { readonly [name in LogField]?: unknown }

/** Logs events. Never throws. */
export interface Logger {
  debug(event: LogEvent, fields?: LogFields): void
  info(event: LogEvent, fields?: LogFields): void
  warn(event: LogEvent, fields?: LogFields): void
  error(event: LogEvent, fields?: LogFields): void
}

/** Where lines are written: the one method of pino's destinations that is used. */
export interface LogDestination {
  write(line: string): void
}

/** How lines look: for programs, or for a person, with or without colours. */
export type LogForm = 'json' | 'text' | 'coloured'

export interface LoggerOptions {
  level: pino.LevelWithSilent
  /** Texts that must not appear in any line; may grow. */
  secrets: readonly string[]
  /** Default: JSON. */
  form?: LogForm
  /** Default: stderr, synchronous. */
  destination?: LogDestination
}

const LONGEST_TEXT = 1000
const MOST_MEMBERS = 50
const DEEPEST = 3
/** Names of settings are allowed; the summary of settings has its secrets removed already. */
const SETTING_NAME = /^(BRIDGE|OTEL)_[A-Z_]+$/
const REDACTED = '[redacted]'
/** Shorter secrets are not searched for, because that would remove parts of ordinary words. */
const SHORTEST_SECRET = 6
const QUERY_OF_ADDRESS = /(https?:\/\/[^\s?"'#]*)[?#][^\s"']*/g
const CREDENTIALS_OF_ADDRESS = /(https?:\/\/)[^\s/@"']*@/g

/** A logger whose level can be changed. */
export interface LevelSwitch {
  level: string
}

/** Creates a logger on pino, whose `level` may be changed. */
export function createLogger(options: LoggerOptions): Logger & LevelSwitch {
  const destination = options.destination ?? pino.destination({ fd: 2, sync: true })
  const sink = pino(
    {
      level: options.level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    { write: (line: string) => void destination.write(inForm(line, options.form ?? 'json')) },
  )
  const clean = cleaner(options.secrets)
  const line =
    (level: 'debug' | 'info' | 'warn' | 'error') =>
    (event: LogEvent, fields: LogFields = {}): void => {
      if (!sink.isLevelEnabled(level)) return
      sink[level]({ event: clean(event), ...members(fields, clean, DEEPEST) }, eventMeaning(event))
    }
  return {
    ...{ debug: line('debug'), info: line('info'), warn: line('warn'), error: line('error') },
    get level() {
      return sink.level
    },
    set level(level) {
      sink.level = level
    },
  }
}

function inForm(line: string, form: LogForm): string {
  return form === 'json' ? safeJson(line) : `${textLine(line, form === 'coloured')}\n`
}

/** The members of an object with allowed names: those of the allow-list and names of settings. */
function members(fields: object, clean: (text: string) => string, depth: number): Record<string, unknown> {
  const kept: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(fields).slice(0, MOST_MEMBERS)) {
    if (value === undefined || !(logFields.has(name) || SETTING_NAME.test(name))) continue
    kept[name] = shown(value, clean, depth)
  }
  return kept
}

/** A value for a line: shortened, cleaned, at most three levels deep. */
function shown(value: unknown, clean: (text: string) => string, depth: number): unknown {
  if (typeof value === 'string') return clean(value)
  if (typeof value === 'number' || typeof value === 'boolean' || value === null) return value
  if (value instanceof Error) return shownError(value, clean, depth)
  if (depth === 0 || typeof value !== 'object') return clean(textOf(value))
  if (!Array.isArray(value)) return members(value, clean, depth - 1)
  return value.slice(0, MOST_MEMBERS).map((member) => shown(member, clean, depth - 1))
}

function shownError(error: Error, clean: (text: string) => string, depth: number): unknown {
  const cause =
    error.cause === undefined || depth === 0 ? {} : { cause: shown(error.cause, clean, depth - 1) }
  if (error instanceof BridgeError) {
    const hint = error.hint === undefined ? {} : { hint: clean(error.hint) }
    return { code: error.code, message: clean(error.message), ...hint, ...cause }
  }
  return { message: clean(error.message), stack: clean(error.stack ?? ''), ...cause }
}

/** Removes secrets, queries of addresses and excess length from a text. */
function cleaner(secrets: readonly string[]): (text: string) => string {
  let known = -1
  let forms: string[] = []
  return (text) => {
    if (known !== secrets.length) {
      known = secrets.length
      const searched = secrets.filter((secret) => secret.length >= SHORTEST_SECRET)
      forms = [...new Set(searched.flatMap((secret) => [secret, encodeURIComponent(secret)]))]
    }
    let cleaned = text
    for (const form of forms) cleaned = cleaned.replaceAll(form, REDACTED)
    cleaned = cleaned.replace(CREDENTIALS_OF_ADDRESS, '$1').replace(QUERY_OF_ADDRESS, '$1')
    return cleaned.length > LONGEST_TEXT ? `${cleaned.slice(0, LONGEST_TEXT)}…` : cleaned
  }
}
