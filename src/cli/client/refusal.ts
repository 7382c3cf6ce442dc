/**
 * What a bridge's error answer means to the person at the terminal: which exit code, which words, what to do next.
 * Owns that reading of problem answers, and the words where there is no answer, or none of a bridge. Refuses to decide
 * whether to try again.
 */
import { BridgeError, type ErrorCode, type FieldError } from '../../errors.ts'
import { harmless } from '../terminal/text.ts'
import { networkWordsOf } from './network-words.ts'
import type { Target } from './target.ts'

/** Most of an error answer that is looked at, characters. */
const LONGEST_BODY = 64 * 1024
const LONGEST_TEXT = 500
const MOST_ERRORS = 20
const LIMIT_HINT = 'Delete what is no longer needed.'

/** What is read of a problem answer; empty where it is none. */
interface Problem {
  code: string
  detail: string
  oldest: string | null
  errors: FieldError[]
}

/** What only the command knows to say of a refusal. */
export interface RefusalWords {
  /** What to look at when the request is wrong. */
  help: string
  /** What a 404 means, and what to do about it. */
  missing: { message: string; hint: string }
  /** The flag that takes a cursor; `--after` where it is left out. */
  cursorFlag?: string
}

/** The error that ends a command whose request was answered with this status and body. */
export function refusalOf(status: number, body: string, target: Target, words: RefusalWords): BridgeError {
  const problem = readProblem(body)
  const said = problem.detail === '' ? '' : `: ${problem.detail}`
  const refuse = (code: ErrorCode, message: string, hint: string): BridgeError =>
    new BridgeError(code, message, { hint, errors: problem.errors })
  switch (status) {
    case 400:
    case 414:
      return refuse(
        'usage',
        // The wrong fields say it all, where there are some.
        `the bridge refuses the request${problem.errors.length > 0 ? '' : said}`,
        words.help,
      )
    case 401:
    case 403:
      if (problem.code === 'limit_reached') return refuse('failed', problem.detail, LIMIT_HINT)
      return refuse(
        target.tokenIsFlag ? 'usage' : 'settings',
        `${target.url} refuses the token${said}`,
        tokenHint(target),
      )
    case 404:
      return refuse('failed', `${target.url} ${words.missing.message}${said}`, words.missing.hint)
    case 410: {
      const { cursorFlag = '--after' } = words
      return refuse(
        'failed',
        'what follows this cursor is no longer kept',
        problem.oldest === null
          ? `Leave ${cursorFlag} out to begin with what comes now.`
          : `${cursorFlag} ${problem.oldest} begins with the oldest event kept; what lies before it is gone.`,
      )
    }
    case 429:
      return refuse(
        'failed',
        problem.detail || `${target.url} has too much to do`,
        'Try again in some seconds.',
      )
    default:
      return refuse(
        'failed',
        `${target.url} answers with status ${status}${said}`,
        'Check --url, and the log of the bridge.',
      )
  }
}

/** The error where nothing answers, by what `fetch` threw. */
export function noAnswer(error: unknown, target: Target): BridgeError {
  const { what, todo } = networkWordsOf(error)
  return new BridgeError('failed', `no bridge answers at ${target.url}: ${what}`, {
    hint: `Is it running (npm start, npm run demo)? Give --url the address of its ready line. Else: ${todo}.`,
  })
}

/** The error where something else than a bridge answers. */
export function noBridge(target: Target): BridgeError {
  return new BridgeError('failed', `what answers at ${target.url} is no bridge`, {
    hint: 'Give --url the address `http` of the ready line.',
  })
}

function tokenHint({ tokenIsFlag }: Target): string {
  const where = tokenIsFlag ? 'Give --token' : 'Set BRIDGE_ADMIN_TOKEN to, or give --token with,'
  return `${where} the token that the bridge was started with; npm run demo prints its own.`
}

function readProblem(body: string): Problem {
  let parsed: unknown = null
  try {
    parsed = JSON.parse(body.slice(0, LONGEST_BODY))
  } catch {
    // Whatever answered is no bridge; its status says enough.
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
