/**
 * The one error type of this program: a closed code, the cause, and a hint that tells the operator what to do.
 * Expected outcomes (an upstream 500, an empty poll) are values, not errors.
 */

/** Every fault this program can name. A new one is added here, and where it ends a command, to `exitCodes`. */
export const errorCodes = [
  'usage',
  'settings',
  'upstream',
  'kafka',
  'log_unknown',
  'log_fenced',
  'log_locked',
  'log_damaged',
  'log_unavailable',
  'shard_lost',
  'date_invalid',
  'cursor_invalid',
  'filter_invalid',
  'secret_unreadable',
  'failed',
] as const

/** One of the closed list of codes. */
export type ErrorCode = (typeof errorCodes)[number]

/** One wrong field of a setting, a filter, a query or a body: where, what, and the near match where there is one. */
export interface FieldError {
  field: string
  message: string
}

/** A fault with a stable code, a sentence for a person, and what that person can do about it. */
export class BridgeError extends Error {
  readonly code: ErrorCode
  readonly hint: string | undefined
  /** Each wrong field, where several can be told apart. */
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

/** True for a BridgeError of that code: the way to tell outcomes of the log port apart. */
export function isBridgeError(error: unknown, code: ErrorCode): error is BridgeError {
  return error instanceof BridgeError && error.code === code
}

/** True for an error of the log that goes away when its storage or Kafka is available again: the caller may retry. */
export function isLogOutage(error: unknown): boolean {
  return isBridgeError(error, 'log_unknown') || isBridgeError(error, 'log_unavailable')
}

/** Exit codes of contract §1: 1 failed · 2 wrong usage · 3 wrong settings · 4 upstream · 5 Kafka. */
const exitCodes: Partial<Record<ErrorCode, number>> = { usage: 2, settings: 3, upstream: 4, kafka: 5 }

/** The process exit code for whatever ended a command. */
export function exitCodeFor(error: unknown): number {
  return error instanceof BridgeError ? (exitCodes[error.code] ?? 1) : 1
}

/** The text of whatever was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
