/**
 * Defines the program's one error type: a code from a closed list, a message, and a hint that says what the operator
 * can do. Expected outcomes (an upstream 500, an empty poll) are values, not errors.
 */

/**
 * Every fault this program can name, with its meaning for an operator; `docs/errors.md` lists them. A new one is added
 * here, and to `exitCodes` where it ends a command.
 */
export const errorCodes = {
  usage: 'The command line is wrong.',
  settings: 'A setting is missing or wrong.',
  upstream: 'The upstream API did not answer as needed.',
  kafka: 'Kafka refuses this program, and retrying cannot fix that.',
  log_unknown: 'The outcome of a write is unknown. It is read back before anything else is written.',
  log_fenced: 'Another process has taken over writing. This one stops writing.',
  log_locked: 'Another process uses this data directory.',
  log_damaged: 'Stored data contradicts itself or cannot be read. The process stops.',
  log_unavailable: 'The storage or Kafka cannot be reached or written. The operation is retried.',
  shard_lost: 'Another process has taken over this shard of webhook work.',
  date_invalid: 'A text is not a date or time of an accepted form.',
  cursor_invalid: 'A text is not a cursor of a bridge.',
  filter_invalid: 'A filter is wrong; each wrong field is named.',
  secret_unreadable: 'A stored secret cannot be opened with the configured keys.',
  failed: 'Anything else; the message says what.',
} as const

/** One of the closed list of codes. */
export type ErrorCode = keyof typeof errorCodes

/** One wrong field of a setting, a filter, a query or a body: where, what, and the near match where there is one. */
export interface FieldError {
  field: string
  message: string
}

/** Most wrong fields that one error lists. */
export const MOST_ERRORS = 20
/** Most characters of a wrong name or value that an error repeats. */
export const LONGEST_ECHO = 40

/** The path of a value as errors name it, e.g. `scopes[0]` or `headers.x-key`. */
export function fieldPath(path: readonly PropertyKey[]): string {
  return path
    .map((part) => (typeof part === 'number' ? `[${part}]` : `.${part.toString()}`))
    .join('')
    .slice(1)
}

/** An untrusted text for an error message: in quotes, shortened. */
export function echo(text: string): string {
  return JSON.stringify(text.length > LONGEST_ECHO ? `${text.slice(0, LONGEST_ECHO)}…` : text)
}

/** A fault with a stable code, a sentence for a person, and what that person can do about it. */
export class BridgeError extends Error {
  readonly code: ErrorCode
  readonly hint: string | undefined
  /** Each wrong field, where several are known. */
  readonly errors: readonly FieldError[]

  constructor(
    code: ErrorCode,
    message: string,
    options: { hint?: string; cause?: unknown; errors?: readonly FieldError[] } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = 'BridgeError'
    this.code = code
    this.hint = options.hint
    this.errors = options.errors ?? []
  }
}

/** True for a BridgeError of that code: distinguishes outcomes of the log port. */
export function isBridgeError(error: unknown, code: ErrorCode): error is BridgeError {
  return error instanceof BridgeError && error.code === code
}

/** True for an error of the log that goes away when its storage or Kafka is available again: the caller may retry. */
export function isLogOutage(error: unknown): boolean {
  return isBridgeError(error, 'log_unknown') || isBridgeError(error, 'log_unavailable')
}

/** What each exit code of a command means. */
export const exitMeanings: Readonly<Record<number, string>> = {
  0: 'Done.',
  1: 'Failed for any other reason.',
  2: 'Wrong usage: the command line is at fault.',
  3: 'Wrong settings.',
  4: 'The upstream is at fault.',
  5: 'Kafka is at fault.',
}

const exitCodes: Partial<Record<ErrorCode, number>> = { usage: 2, settings: 3, upstream: 4, kafka: 5 }

/** The process exit code for the error that ended a command. */
export function exitCodeFor(error: unknown): number {
  return error instanceof BridgeError ? (exitCodes[error.code] ?? 1) : 1
}

/** The message of any thrown value. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : textOf(error)
}

/**
 * Any value as a short text. Unlike `String`, it never throws: JSON may hold an object that has no primitive form, such as
 * `{"toString":1}`. Objects are named only.
 */
export function textOf(value: unknown): string {
  if (typeof value === 'string') return value
  if (typeof value === 'object' && value !== null) return Array.isArray(value) ? 'a list' : 'an object'
  return typeof value === 'function' || typeof value === 'symbol' ? `a ${typeof value}` : `${value}`
}
