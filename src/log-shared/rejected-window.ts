/** Bounds how many rejected items a claim reads, and keeps their hashes instead of their texts. */
import { rejectedHash } from '../log/events.ts'

/** Most text that is read for hashes, bytes; an item may have as many as an upstream's answer. */
export const REJECTED_WINDOW_BYTES = 64 * 1024 * 1024

/** Where to stop reading. */
export interface RejectedWindow {
  /** Most items. */
  limit: number
  /** No further item is read once so many bytes were. */
  mostBytes: number
}

/** The hashes of these texts, which come newest first and one at a time; newest last, as far as the window goes. */
export function hashesWithin(texts: Iterable<string>, { limit, mostBytes }: RejectedWindow): string[] {
  const hashes: string[] = []
  let bytes = 0
  if (limit <= 0) return hashes
  for (const text of texts) {
    hashes.push(rejectedHash(text))
    bytes += Buffer.byteLength(text)
    if (hashes.length >= limit || bytes >= mostBytes) break
  }
  return hashes.reverse()
}
