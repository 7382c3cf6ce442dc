/**
 * Turns a bridge's error response, or the lack of any response, into a BridgeError with exit code, text and advice.
 */
import { BridgeError, type ErrorCode, type FieldError, MOST_ERRORS } from '../../errors.ts'
import { NO_PATH } from '../../http/problem.ts'
import { harmless } from '../terminal/text.ts'
import { networkWordsOf } from './network-words.ts'
import type { BridgeTarget } from './target.ts'

/** Most of an error response that is read, characters. */
const LONGEST_BODY = 64 * 1024
const LONGEST_TEXT = 500
const LIMIT_HINT = 'Delete what is no longer needed.'

/** The members of a problem response; empty where it is not one. */
interface Problem {
  code: string
  detail: string
  oldest: string | null
  errors: FieldError[]
}

/** The command's own texts for refusals. */
export interface RefusalWords {
  /** Advice for a wrong request. */
  help: string
  /** What a 404 means, and what to do about it. */
  missing: { message: string; hint: string }
  /** What a 404 for the path itself means, where it is something else: an older bridge has no such path. */
  noPath?: { message: string; hint: string }
  /** The flag that takes a cursor; `--after` where it is left out, null where the command takes none. */
  cursorFlag?: string | null
  /** The command's arguments, e.g. `URL`: a wrong member of that name is named as the argument. */
  words?: readonly string[]
  /** The command's flags: a wrong member of the request is named as its flag. */
  flags?: readonly string[]
}

/** The error for a response with this status and body. */
export function responseError(
  status: number,
  body: string,
  target: BridgeTarget,
  words: RefusalWords,
): BridgeError {
  const problem = readProblem(body)
  const detail = problem.detail === '' ? '' : `: ${problem.detail}`
  const refuse = (code: ErrorCode, message: string, hint: string): BridgeError =>
    new BridgeError(code, message, { hint, errors: problem.errors.map((error) => named(error, words)) })
  switch (status) {
    case 400:
    case 414:
      return refuse(
        'usage',
        // The wrong fields, where there are some, explain the refusal.
        `the bridge refuses the request${problem.errors.length > 0 ? '' : detail}`,
        words.help,
      )
    case 401:
    case 403:
      if (problem.code === 'limit_reached') return refuse('failed', problem.detail, LIMIT_HINT)
      return refuse(
        target.tokenIsFlag ? 'usage' : 'settings',
        `${target.url} refuses the token${detail}`,
        problem.detail.includes('scope') ? scopeHint(problem.detail) : tokenHint(target),
      )
    case 404: {
      const { missing, noPath = missing } = words
      const { message, hint } = problem.detail.startsWith(NO_PATH) ? noPath : missing
      return refuse('failed', `${target.url} ${message}${detail}`, hint)
    }
    case 409:
      return refuse('failed', `${target.url} refuses this for now${detail}`, 'Come back when that is over.')
    case 410: {
      const { cursorFlag = '--after' } = words
      if (cursorFlag === null)
        return refuse('failed', problem.detail, 'Events that are older still are gone.')
      return refuse(
        'failed',
        'the events after this cursor are no longer kept',
        problem.oldest === null
          ? `Leave ${cursorFlag} out to start with new events.`
          : `${cursorFlag} ${problem.oldest} begins with the oldest event kept; earlier events are gone.`,
      )
    }
    case 429:
      return refuse('failed', problem.detail || `${target.url} is overloaded`, 'Try again in a few seconds.')
    case 503:
      return refuse(
        'failed',
        `${target.url} cannot do this now${detail}`,
        'Try again later; the log of the bridge says why.',
      )
    default:
      return refuse(
        'failed',
        `${target.url} answers with status ${status}${detail}`,
        'Check --url, and the log of the bridge.',
      )
  }
}

/** The error where nothing answers; `error` is what `fetch` threw. */
export function noAnswer(error: unknown, target: BridgeTarget): BridgeError {
  const { what, todo } = networkWordsOf(error)
  return new BridgeError('failed', `no bridge answers at ${target.url}: ${what}`, {
    hint: `Is it running (npm start, npm run demo)? Give --url the address (\`http\`) that it printed when it started. Else: ${todo}.`,
  })
}

/** The error where something other than a bridge answers. */
export function noBridge(target: BridgeTarget): BridgeError {
  return new BridgeError('failed', `${target.url} is not a disclosure-bridge`, {
    hint: 'Give --url the address (`http`) that the bridge printed when it started.',
  })
}

function tokenHint({ tokenIsFlag }: BridgeTarget): string {
  const where = tokenIsFlag ? 'Give --token' : 'Set BRIDGE_ADMIN_TOKEN to, or give --token with,'
  return `${where} the token that the bridge was started with; npm run demo prints its own.`
}

function scopeHint(detail: string): string {
  const scope = /\bscope (\S+)/.exec(detail)?.[1] ?? 'LIST'
  return `Use a token with that scope: bridge tokens create --tenant NAME --scopes ${scope} makes one, with the admin token.`
}

/** The error with its field as argument or flag, e.g. `--max-concurrency` for `maxConcurrency`, `--header x` for `headers.x`. */
function named({ field, message }: FieldError, { flags = [], words = [] }: RefusalWords): FieldError {
  if (words.includes(field.toUpperCase())) return { field: field.toUpperCase(), message }
  const [, member = '', rest = ''] = /^(?:filter\.)?([^.[]*)(?:\[\d+\])?(.*)$/.exec(field) ?? []
  const flag = member.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
  const found = [flag, flag.replace(/s$/, '')].find((one) => flags.includes(one))
  if (found === undefined) return { field, message }
  return { field: `--${found}${found === flag ? rest : rest.replace('.', ' ')}`, message }
}

function readProblem(body: string): Problem {
  let parsed: unknown = null
  try {
    parsed = JSON.parse(body.slice(0, LONGEST_BODY))
  } catch {
    // Not a bridge; the status is reported.
  }
  const fields = (parsed !== null && typeof parsed === 'object' ? parsed : {}) as Record<string, unknown>
  return {
    code: text(fields.code),
    detail: text(fields.detail),
    oldest: text(fields.oldest) || null,
    errors: (Array.isArray(fields.errors) ? fields.errors : []).slice(0, MOST_ERRORS).map(fieldError),
  }
}

function fieldError(value: unknown): FieldError {
  const { field, message } = (value ?? {}) as Record<string, unknown>
  return { field: text(field), message: text(message) }
}

function text(value: unknown): string {
  return typeof value === 'string' ? harmless(value).slice(0, LONGEST_TEXT) : ''
}
