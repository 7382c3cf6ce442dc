/**
 * How much of the rejected items a claim reads to know each of them again. Owns the bounds, and keeping hashes instead
 * of texts. Refuses to store.
 */
import { contentHash } from '../core/disclosure.ts'

/** Most text that is read for hashes, bytes; an item may have as many as an upstream's answer. */
export const REJECTED_WINDOW_BYTES = 64 * 1024 * 1024

/** Where to stop reading. */
export interface RejectedWindow {
  /** Most items. */
  limit: number
  /** No further item is read once so many bytes were. */
  mostBytes: number
}

/** What the same item is known by when it comes again. */
export function rejectedHash(raw: string): string {
  return contentHash(raw)
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
