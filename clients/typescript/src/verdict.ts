/**
 * Decides from a connection's end (close code, last error) whether to reconnect, and after which delay.
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
  /** The stream was ended on request, by `DELETE /v1/streams/{id}`. */
  | 'ended'
  /** What follows the cursor is no longer kept; `oldestCursor` is the earliest that can be resumed from. */
  | 'cursor_too_old'
  /** The cursor was damaged or belongs to another bridge. */
  | 'cursor_invalid'
  /** A command was refused, mostly for its filter or start, or as one subscription too many; the message says what is wrong. */
  | 'subscription_refused'
  /** The bridge closed the connection with another code that forbids reconnecting. */
  | 'refused'

/** The stream has ended and reconnecting would not help until the cause is corrected. */
export class StreamFailure extends Error {
  readonly code: FailureCode
  /** WebSocket close code; null where the client closed. */
  readonly closeCode: number | null
  /** The oldest cursor that can be resumed from, with `cursor_too_old`; else null. */
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

/** To be thrown by the option `ticket`: there is no ticket now, as after an answer with status 429 and `Retry-After`. */
export class TicketDelay extends Error {
  /** The next one is fetched no sooner than after so many ms. */
  readonly retryInMs: number

  constructor(message: string, retryInMs: number) {
    super(message)
    this.name = 'TicketDelay'
    this.retryInMs = retryInMs
  }
}

/**
 * What ended a connection. `unreachable`: it was never opened · `going_away`: the node stops and asked the client to
 * reconnect · `silent`: no heartbeat came · `slow_reader`: the reader's buffer is full · `unreadable`: a message was not
 * the bridge's protocol · `closed`: the bridge or the network closed it.
 */
export type EndCause = 'unreachable' | 'going_away' | 'silent' | 'slow_reader' | 'unreadable' | 'closed'

/** How a connection ended. */
export interface ConnectionEnd {
  /** WebSocket close code; null where the client closed. */
  closeCode: number | null
  cause: EndCause
  /** One sentence for people. */
  why: string
  /** The last `error` message of the bridge. */
  error: { code: number; detail: string } | null
  /** The delay that `going_away` or a `TicketDelay` asked for; null without them. */
  reconnectInMs: number | null
}

/** Upper limit of the client's own wait before another connection. */
const CEILING_MS = 30_000
const FIRST_MS = 500
/** "Come back later" starts with the delay of the fourth attempt. */
const LATER_DOUBLINGS = 3
/** Longest delay that a bridge may ask for. */
const LONGEST_ASKED_MS = 300_000
/** `error` codes after which the bridge closes the connection; the close code decides. */
const CLOSED_BY_BRIDGE = [402, 404, 429, 500]
/** Close codes below 4000 for a fault of the client (RFC 6455 §7.4.1). */
const CLIENT_FAULTS = [1002, 1003, 1007, 1008, 1009]
/** Close codes below 4000 for a fault of the server. */
const SERVER_FAULTS = [1011, 1012, 1013]

const failureCodes: Readonly<Record<number, FailureCode>> = {
  4001: 'unauthenticated',
  4003: 'forbidden',
  4006: 'too_many_connections',
  4007: 'ended',
}

/**
 * Whether the `error` refuses a command and may leave the connection open, which is useless then: what was asked for never
 * comes. So does one of an unknown code.
 */
export function isRefusal(error: { code: number }): boolean {
  return !CLOSED_BY_BRIDGE.includes(error.code)
}

/** The failure behind an end that forbids reconnecting; null where reconnecting may help. */
export function failureOf({ closeCode, why, error }: ConnectionEnd): StreamFailure | null {
  const message = error?.detail ?? why
  const isFinal = closeCode !== null && closeCode >= 4000 && closeCode < 4100
  if (closeCode === 4010) {
    const oldestCursor = /\boldest=(\S+)/.exec(`${message} ${why}`)?.[1] ?? null
    const code = oldestCursor === null ? 'cursor_invalid' : 'cursor_too_old'
    return new StreamFailure(code, message, { closeCode, oldestCursor })
  }
  if (isFinal) return new StreamFailure(failureCodes[closeCode] ?? 'refused', message, { closeCode })
  if (closeCode !== null && CLIENT_FAULTS.includes(closeCode)) {
    return new StreamFailure('refused', message, { closeCode })
  }
  const mayComeBack = closeCode !== null && closeCode >= 4100
  if (error !== null && isRefusal(error) && !mayComeBack)
    return new StreamFailure('subscription_refused', message)
  return null
}

/**
 * Milliseconds to wait before the next connection, after `useless` connections in a row without a message. Full jitter:
 * a random share of a limit that doubles from 0.5 s to 30 s (from 4 s where the code means "later"); never less than the
 * bridge asked for. `chance` is drawn once.
 */
export function delayMs(
  { closeCode, reconnectInMs }: ConnectionEnd,
  useless: number,
  chance: Chance,
): number {
  const isLater =
    closeCode !== null && ((closeCode >= 4100 && closeCode < 4200) || SERVER_FAULTS.includes(closeCode))
  const doublings = useless + (isLater ? LATER_DOUBLINGS : 0)
  const backoffMs = Math.round(chance() * Math.min(CEILING_MS, FIRST_MS * 2 ** doublings))
  // A caller's own arithmetic may have made it no number: without a wait the client would try without end.
  if (reconnectInMs === null || !(reconnectInMs >= 0)) return backoffMs
  const askedMs = Math.min(reconnectInMs, LONGEST_ASKED_MS)
  return useless === 0 ? askedMs : Math.max(askedMs, backoffMs)
}
