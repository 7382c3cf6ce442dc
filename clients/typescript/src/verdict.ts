/**
 * What the end of a connection means: give up, come back later, come back soon, and when. Owns the meaning of close codes
 * and the waits. Refuses sockets.
 */
import type { Chance } from './clock.ts'

/** Why a stream is over for good. */
export type FailureCode =
  /** The token or ticket is not valid, has expired or was deleted. */
  | 'unauthenticated'
  /** The token lacks the scope `events:read`. */
  | 'forbidden'
  /** The token has as many connections as it may. */
  | 'too_many_connections'
  /** What follows the cursor is no longer kept; `oldestCursor` is the earliest that can be resumed from. */
  | 'cursor_too_old'
  /** The cursor is none of this bridge. */
  | 'cursor_invalid'
  /** The filter or the start was refused; the message says what is wrong. */
  | 'subscription_refused'
  /** The bridge ended the connection with another code that says not to come back. */
  | 'refused'

/** A stream is over for good: trying again does not help before something was put right. */
export class StreamFailure extends Error {
  readonly code: FailureCode
  /** Close code of the connection; null where there was none. */
  readonly closeCode: number | null
  /** With `cursor_too_old`; else null. */
  readonly oldestCursor: string | null

  constructor(
    code: FailureCode,
    message: string,
    {
      closeCode = null,
      oldestCursor = null,
    }: { closeCode?: number | null; oldestCursor?: string | null } = {},
  ) {
    super(message)
    this.name = 'StreamFailure'
    this.code = code
    this.closeCode = closeCode
    this.oldestCursor = oldestCursor
  }
}

/** How a connection ended. */
export interface ConnectionEnd {
  /** WebSocket close code; null where the client itself let go. */
  closeCode: number | null
  /** One sentence for people. */
  why: string
  /** The last `error` message of the bridge. */
  error: { code: number; detail: string } | null
  /** What `going_away` asked for; null without it. */
  reconnectInMs: number | null
}

/** Longest own wait before another connection. */
const CEILING_MS = 30_000
const FIRST_MS = 500
/** "Later" begins where the fourth try would be. */
const LATER_DOUBLINGS = 3
/** Longest wait that a bridge may ask for. */
const LONGEST_ASKED_MS = 300_000
/** Numbers of `error` that answer what this client sent; the bridge leaves the connection open. */
const REFUSALS = [400, 401, 403, 410]
/** Codes below 4000 that say: what you sent is wrong (RFC 6455 §7.4.1). */
const WRONG_FRAMES = [1002, 1003, 1007, 1008, 1009]
/** Codes below 4000 that say: this server has a trouble of its own. */
const TROUBLED = [1011, 1012, 1013]

const failureCodes: Readonly<Record<number, FailureCode>> = {
  4001: 'unauthenticated',
  4003: 'forbidden',
  4006: 'too_many_connections',
}

/** Whether the `error` refuses what this client asked for, so that the connection is of no use. */
export function isRefusal(error: { code: number }): boolean {
  return REFUSALS.includes(error.code)
}

/** The failure behind an end that forbids to come back; null where coming back may help. */
export function failureOf({ closeCode, why, error }: ConnectionEnd): StreamFailure | null {
  const message = error?.detail ?? why
  const isFinal = closeCode !== null && closeCode >= 4000 && closeCode < 4100
  if (closeCode === 4010) {
    const oldestCursor = /\boldest=(\S+)/.exec(`${message} ${why}`)?.[1] ?? null
    const code = oldestCursor === null ? 'cursor_invalid' : 'cursor_too_old'
    return new StreamFailure(code, message, { closeCode, oldestCursor })
  }
  if (isFinal) return new StreamFailure(failureCodes[closeCode] ?? 'refused', message, { closeCode })
  if (closeCode !== null && WRONG_FRAMES.includes(closeCode)) {
    return new StreamFailure('refused', message, { closeCode })
  }
  if (error !== null && isRefusal(error)) return new StreamFailure('subscription_refused', message)
  return null
}

/**
 * Milliseconds to wait before the next connection, after so many in a row that brought nothing. Full jitter: anything
 * from 0 to a limit that doubles from 0.5 s to 30 s, from 4 s where the code says "later"; never less than the bridge
 * asked for. `chance` is drawn once.
 */
export function delayMs(
  { closeCode, reconnectInMs }: ConnectionEnd,
  useless: number,
  chance: Chance,
): number {
  const isLater =
    closeCode !== null && ((closeCode >= 4100 && closeCode < 4200) || TROUBLED.includes(closeCode))
  const doublings = useless + (isLater ? LATER_DOUBLINGS : 0)
  const ownMs = Math.round(chance() * Math.min(CEILING_MS, FIRST_MS * 2 ** doublings))
  if (reconnectInMs === null) return ownMs
  const askedMs = Math.min(reconnectInMs, LONGEST_ASKED_MS)
  return useless === 0 ? askedMs : Math.max(askedMs, ownMs)
}
