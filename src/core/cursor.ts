/**
 * Encodes and decodes the cursor from which a reader resumes: epoch, sequence, time and checksum in one opaque string. The
 * caller checks whether the cursor is older than the retained events.
 */
import { crc32 } from 'node:zlib'
import { BridgeError } from '../errors.ts'

/** A place in the stream: just after the event `sequence` of `epoch`, whose time was `timeMs`. 0 is before the first. */
export interface Cursor {
  /** 8 characters of A–Z, a–z, 0–9. */
  epoch: string
  sequence: number
  /** Milliseconds since 1970 of the event at `sequence`; 0 before the first. */
  timeMs: number
}

const FORMAT = 1
const LENGTH = 1 + 8 + 8 + 8
const EPOCH = /^[A-Za-z0-9]{8}$/
/** Furthest moment a JavaScript date can hold. */
const LAST_TIME_MS = 8.64e15

/** The opaque text of a cursor: 39 characters, safe in a URL. */
export function encodeCursor(cursor: Cursor): string {
  const bytes = Buffer.alloc(LENGTH + 4)
  bytes.writeUInt8(FORMAT, 0)
  bytes.write(cursor.epoch, 1, 8, 'latin1')
  bytes.writeBigUInt64BE(BigInt(cursor.sequence), 9)
  bytes.writeBigInt64BE(BigInt(cursor.timeMs), 17)
  bytes.writeUInt32BE(crc32(bytes.subarray(0, LENGTH)), LENGTH)
  return bytes.toString('base64url')
}

/** Characters of a cursor's text that hold format and epoch: nine bytes. */
const EPOCH_CHARACTERS = 12

/** The epoch in the text of a cursor that was encoded or decoded here before: nothing is checked again. */
export function epochOf(checked: string): string {
  return Buffer.from(checked.slice(0, EPOCH_CHARACTERS), 'base64url').toString('latin1', 1)
}

/**
 * Reads a cursor's text.
 * @throws BridgeError `cursor_invalid` when it is truncated, changed or of another program
 */
export function decodeCursor(text: string): Cursor {
  const bytes = Buffer.from(text, 'base64url')
  const whole = bytes.length === LENGTH + 4 && bytes.toString('base64url') === text
  if (
    whole &&
    bytes.readUInt8(0) === FORMAT &&
    bytes.readUInt32BE(LENGTH) === crc32(bytes.subarray(0, LENGTH))
  ) {
    const epoch = bytes.toString('latin1', 1, 9)
    const sequence = Number(bytes.readBigUInt64BE(9))
    const timeMs = Number(bytes.readBigInt64BE(17))
    if (EPOCH.test(epoch) && Number.isSafeInteger(sequence) && Math.abs(timeMs) <= LAST_TIME_MS) {
      return { epoch, sequence, timeMs }
    }
  }
  throw new BridgeError('cursor_invalid', 'this is not a cursor of this bridge', {
    hint: 'Send a `cursor` exactly as an event or answer gave it; to start over, leave it out.',
  })
}
