/**
 * What a WebSocket client is told when something is wrong: the numbers of `error` messages, the codes that close, and
 * the reason behind a code (contract §8). Owns these lists; docs/streams.md explains each. Refuses to send.
 */

import type { NoPlace, Places } from '../limits/connection-slots.ts'

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
export type ErrorNumber = keyof typeof errorNames

/**
 * Codes that this side closes with. 40xx: do not come back; 41xx: come back later; 42xx: come back at once; below 4000
 * the protocol's own: 1003 for a binary message, 1009 for one that is too large, 1011 for a fault of ours.
 */
export const closeCodes = [1003, 1009, 1011, 4001, 4003, 4006, 4010, 4100, 4108, 4129, 4200, 4201] as const
export type CloseCode = (typeof closeCodes)[number]

/** Bytes of a close reason (RFC 6455 §5.5: 125 with the code). */
const MOST_REASON_BYTES = 123

/** Ends the handling of a message with an `error`, and the connection too where there is a code. */
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

/** A close reason: what happened, and `cursor=<resume point>` where there is one; what happened is cut to fit. */
export function closeReason(what: string, cursor: string | null): string {
  const end = cursor === null ? '' : ` cursor=${cursor}`
  const bytes = Buffer.from(what).subarray(0, MOST_REASON_BYTES - end.length)
  return `${bytes.toString().replace(/\uFFFD+$/, '')}${end}`
}

/** What is told where there is no place for a stream. */
export function noPlace(why: NoPlace, { limit, perAddress }: Places): string {
  return why === 'full'
    ? `this node serves ${limit} streams already; come back later`
    : `your address has ${perAddress} streams of this node already; come back later`
}

/** The same where the places of those are taken that have not authenticated yet. */
export function noStrangersPlace(why: NoPlace, { limit, perAddress }: Places): string {
  return why === 'full'
    ? `${limit} connections wait to authenticate here already; come back later`
    : `${perAddress} connections of your address wait to authenticate already; come back later`
}

/** Codes that the library closes with by itself when frames are broken (RFC 6455 §7.4.1). */
export type ProtocolCode = '1002' | '1007' | '1008' | '1009'

/** The one of them behind an error of the library. */
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
