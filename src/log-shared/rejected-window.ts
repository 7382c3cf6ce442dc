/** Hashes the newest rejected items, up to a limit of items and bytes, so that a claim keeps no texts in memory. */
import { rejectedHash } from '../log/events.ts'

/** Most bytes of text that are read for hashes; one item may be as large as a whole upstream response. */
export const REJECTED_WINDOW_BYTES = 64 * 1024 * 1024

/** Limits of reading. */
export interface RejectedWindow {
  /** Most items. */
  limit: number
  /** Once so many bytes were read, no further item is. */
  mostBytes: number
}

/** Hashes texts, which arrive newest first and one at a time, within the window. Returns the newest last. */
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
