/**
 * Encodes and decodes the sandbox's paging cursors: a position in an order by (time, key), with a checksum.
 */
import { crc32 } from 'node:zlib'

/** A position: time in ms since 1970, then a key that orders entries of the same time. */
export interface ListPlace {
  timeMs: number
  key: string
}

/** Negative if `left` comes first. */
export function comparePlaces(left: ListPlace, right: ListPlace): number {
  if (left.timeMs !== right.timeMs) return left.timeMs - right.timeMs
  return left.key < right.key ? -1 : left.key > right.key ? 1 : 0
}

/** Encodes a position as an opaque cursor: time, key and a checksum. */
export function placeCursor({ timeMs, key }: ListPlace): string {
  const place = `${timeMs}|${key}`
  return Buffer.from(`${crc32(place).toString(36)}|${place}`).toString('base64url')
}

/** Decodes a cursor to its position; null for a text that `placeCursor` did not produce. */
export function readPlaceCursor(text: string): ListPlace | null {
  const [, checksum, place, time, key] =
    /^([0-9a-z]+)\|((-?\d+)\|(.*))$/s.exec(Buffer.from(text, 'base64url').toString()) ?? []
  if (place !== undefined && crc32(place).toString(36) === checksum) {
    const read = { timeMs: Number(time), key: key ?? '' }
    if (placeCursor(read) === text) return read
  }
  return null
}
