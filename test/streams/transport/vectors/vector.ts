/**
 * Defines a test vector: bytes that a client sends, and the expected response (RFC 6455), with helpers that all sections
 * share. `test/streams/transport/rfc6455.test.ts` sends them.
 *
 * The server echoes only the ids of its `ping` command, so such an id shows that a text arrived unchanged.
 */
import { FIN, frame, OPCODES } from '../../../support/streams/raw-stream.ts'

/** The response to a text: the id of a `pong`, null for a `pong` without one, or the number of an `error`. */
export type Reply = { pong: string | null } | { error: number }

export interface Vector {
  /** A description of the sent bytes. */
  name: string
  /** Frames whose responses arrive before the rest is sent: requests in flight when a connection ends get none. */
  before?: readonly Buffer[]
  /** Frames as bytes. */
  send: readonly Buffer[]
  /** Bytes per write; absent: all in one. */
  chop?: number
  /** Texts in the response, in order; none if absent. */
  replies?: readonly Reply[]
  /** Payloads of pong frames in the response, in order; none if absent. */
  pongs?: readonly Buffer[]
  /** The code of the server's close frame, 1005 for one without; absent: the connection stays open and usable. */
  closes?: number
}

/** Vectors about one part of the protocol. */
export interface Section {
  /** The title, with the section of RFC 6455. */
  title: string
  vectors: readonly Vector[]
}

const { text } = OPCODES

/** The `ping` command with this id, as text; its response is a `pong` with the id. */
export function command(id: string): string {
  return JSON.stringify({ action: 'ping', id })
}

/** The command without an id, as text of exactly this many bytes. */
export function commandOf(bytes: number): string {
  return '{"action":"ping"}'.padEnd(bytes, ' ')
}

/** The same command with any bytes as its id. */
export function commandAround(id: Buffer): Buffer {
  return Buffer.concat([Buffer.from('{"action":"ping","id":"'), id, Buffer.from('"}')])
}

/** An unfragmented text. */
export function textFrame(payload: string | Buffer): Buffer {
  return frame(FIN | text, payload)
}

/** A text in frames of these payloads. */
export function fragments(...payloads: (string | Buffer)[]): Buffer[] {
  const last = payloads.length - 1
  return payloads.map((payload, index) =>
    frame((index === last ? FIN : 0) | (index === 0 ? text : OPCODES.continuation), payload),
  )
}

/** A close frame with this code and reason. */
export function closeFrame(code: number, reason: string | Buffer = ''): Buffer {
  return frame(
    FIN | OPCODES.close,
    Buffer.concat([Buffer.from([code >> 8, code & 0xff]), Buffer.from(reason)]),
  )
}

/** Bytes written as hex, spaces between them. */
export function hex(bytes: string): Buffer {
  return Buffer.from(bytes.replaceAll(' ', ''), 'hex')
}
