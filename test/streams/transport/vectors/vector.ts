/**
 * The form of a vector: bytes that a client sends, and what must come back (RFC 6455). Owns the form and the words that all
 * sections share. Refuses to send anything: `test/streams/transport/rfc6455.test.ts` does.
 *
 * The server echoes nothing but ids of its own `ping` command, so a text is known to have arrived as it was sent by that.
 */
import { FIN, frame, OPCODES } from '../../../support/streams/raw-stream.ts'

/** What comes back to a text: the id of a `pong`, null for a `pong` without one, or the number of an `error`. */
export type Reply = { pong: string | null } | { error: number }

export interface Vector {
  /** What is sent, in words. */
  name: string
  /** Frames that are answered before the rest is sent: what is under way when a connection ends is not answered. */
  before?: readonly Buffer[]
  /** Frames as bytes. */
  send: readonly Buffer[]
  /** Bytes a write; absent: all in one. */
  chop?: number
  /** Texts that come back, in order; none where it is absent. */
  replies?: readonly Reply[]
  /** Payloads of pong frames that come back, in order; none where it is absent. */
  pongs?: readonly Buffer[]
  /** The code of the server's close frame, 1005 for one without; absent: the connection stays and is of use. */
  closes?: number
}

/** Vectors about one part of the protocol. */
export interface Section {
  /** With the paragraph of RFC 6455. */
  title: string
  vectors: readonly Vector[]
}

const { text } = OPCODES

/** The command that is answered with a `pong` of this id, as text. */
export function command(id: string): string {
  return JSON.stringify({ action: 'ping', id })
}

/** The command without an id, as text of exactly so many bytes. */
export function commandOf(bytes: number): string {
  return '{"action":"ping"}'.padEnd(bytes, ' ')
}

/** The same command around bytes that are its id, whatever they are. */
export function commandAround(id: Buffer): Buffer {
  return Buffer.concat([Buffer.from('{"action":"ping","id":"'), id, Buffer.from('"}')])
}

/** A whole text. */
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
