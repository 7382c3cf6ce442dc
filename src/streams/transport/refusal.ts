/**
 * Lists the error numbers and close codes of WebSockets with their meanings, and builds their texts.
 * docs/use/websocket.md explains each.
 */

import type { ConnectionSlots, NoSlot } from '../../http/bounds/connection-slots.ts'
import type { NoFilterRoom } from '../limits/filter-room.ts'

/** Numbers of `error` messages with their names. */
export const errorNames = {
  400: 'syntax',
  401: 'not_authenticated',
  402: 'authentication_failed',
  403: 'already_authenticated',
  404: 'authentication_timeout',
  406: 'connection_limit',
  410: 'bad_cursor_or_filter',
  429: 'too_many_commands',
  500: 'internal',
} as const
/** The number of an `error` message. */
export type ErrorNumber = keyof typeof errorNames

/**
 * Codes that the bridge closes with. 40xx: do not reconnect; 41xx: reconnect later; 42xx: reconnect at once; below 4000 those
 * of the protocol: 1003 for a binary message, 1009 for one that is too large, 1011 for a fault of the bridge.
 */
export const closeCodes = [
  1003, 1009, 1011, 4001, 4003, 4006, 4007, 4010, 4100, 4108, 4129, 4200, 4201,
] as const
/** One of these codes. */
export type CloseCode = (typeof closeCodes)[number]

/** Bytes of a close reason (RFC 6455 §5.5: 125 with the code). */
const MAX_REASON_BYTES = 123

/** Answers a message with an `error`, and closes the connection if it has a close code. */
export class StreamRefusal extends Error {
  readonly number: ErrorNumber
  /** null = the connection stays open. */
  readonly closeCode: CloseCode | null

  constructor(number: ErrorNumber, detail: string, closeCode: CloseCode | null = null) {
    super(detail)
    this.name = 'StreamRefusal'
    this.number = number
    this.closeCode = closeCode
  }
}

/** The refusal of a message of more than `maxBytes`; `when` is appended to the text. */
export function tooLarge(maxBytes: number, when = ''): StreamRefusal {
  return new StreamRefusal(400, `more than ${maxBytes} bytes${when}`, 1009)
}

/** The text of a close: `reason`, cut to fit, and `cursor=<resume point>` where there is one. */
export function closeReason(reason: string, cursor: string | null): string {
  const end = cursor === null ? '' : ` cursor=${cursor}`
  const bytes = Buffer.from(reason).subarray(0, MAX_REASON_BYTES - end.length)
  return `${bytes.toString().replace(/\uFFFD+$/, '')}${end}`
}

/** Why a stream is refused when no connection slot is free. */
export function noSlotReason(why: NoSlot, { limit, perAddress }: ConnectionSlots): string {
  return why === 'full'
    ? `this node serves ${limit} streams already; come back later`
    : `your address has ${perAddress} streams of this node already; come back later`
}

/** The same when no slot for unauthenticated connections is free. */
export function noUnauthenticatedSlotReason(why: NoSlot, { limit, perAddress }: ConnectionSlots): string {
  return why === 'full'
    ? `${limit} connections wait to authenticate here already; come back later`
    : `${perAddress} connections of your address wait to authenticate already; come back later`
}

/** The same when a filter is too large beside the others. */
export function noFilterRoomReason(why: NoFilterRoom): string {
  return why === 'full'
    ? 'the filters of all streams of this node take all the memory that they may; come back later, or name fewer identifiers'
    : "the filters of this token's streams take all the memory that they may; use one filter for several streams, or name fewer identifiers"
}

/** Codes with which the ws library closes by itself on broken frames (RFC 6455 §7.4.1). */
export type ProtocolCode = '1002' | '1007' | '1008' | '1009'

/** The close code that the ws library sent for this error. */
export function protocolCode(error: Error & { code?: unknown }): ProtocolCode {
  switch (error.code) {
    case 'WS_ERR_INVALID_UTF8':
      return '1007'
    case 'WS_ERR_TOO_MANY_BUFFERED_PARTS':
      return '1008'
    case 'WS_ERR_UNSUPPORTED_MESSAGE_LENGTH':
    case 'WS_ERR_UNSUPPORTED_DATA_PAYLOAD_LENGTH':
      return '1009'
    default:
      return '1002'
  }
}

/** Every close code with its meaning and when a client reconnects; `corrected`: not before it is changed. */
export const closeMeanings: Readonly<
  Record<
    `${CloseCode}` | ProtocolCode,
    { meaning: string; comeBack: 'never' | 'later' | 'at_once' | 'corrected' }
  >
> = {
  1002: { meaning: 'Broken frames.', comeBack: 'corrected' },
  1003: { meaning: 'A binary message.', comeBack: 'corrected' },
  1007: { meaning: 'Broken UTF-8.', comeBack: 'corrected' },
  1008: { meaning: 'A message in too many pieces.', comeBack: 'corrected' },
  1009: { meaning: 'A message that is too large.', comeBack: 'corrected' },
  1011: { meaning: 'A fault of the bridge.', comeBack: 'later' },
  4001: {
    meaning: 'Authentication failed or came too late, a ticket opens nothing, or the token has ended.',
    comeBack: 'never',
  },
  4003: { meaning: 'The token lacks the scope `events:read`.', comeBack: 'never' },
  4006: { meaning: 'Too many streams of this token.', comeBack: 'never' },
  4007: {
    meaning: 'Ended on request, by `DELETE /v1/streams/{id}`.',
    comeBack: 'never',
  },
  4010: { meaning: 'The cursor is none of this bridge, or older than what is kept.', comeBack: 'never' },
  4100: {
    meaning: 'No place for you on this node, or it cannot judge tokens and tickets yet.',
    comeBack: 'later',
  },
  4108: { meaning: 'Too slow, or what comes next is no longer kept.', comeBack: 'later' },
  4129: { meaning: 'Too many commands.', comeBack: 'later' },
  4200: { meaning: 'The node stops, or the connection is as old as one may be.', comeBack: 'at_once' },
  4201: { meaning: 'No pong came.', comeBack: 'at_once' },
}
