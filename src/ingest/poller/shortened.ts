/**
 * Shortens the text of an item that is set aside as unreadable: of a long one its beginning, its length and its hash
 * are stored, which still identify it.
 */
import { createHash } from 'node:crypto'
import type { Steps } from '../../lifecycle/slices.ts'

/** Longest text that is stored whole, and how much of a longer one is: Kafka's own limit of a record is 1 MiB. */
export const KEPT_BYTES = 768 * 1024
/** Bytes that are hashed between two pauses: about a millisecond. */
const STEP_BYTES = 1024 * 1024

/** The text, or its first `most` bytes of UTF-8 with `… [62914560 bytes in all, SHA-256 <hex>]` after them. */
export function* shortened(text: string, most = KEPT_BYTES): Steps<string> {
  if (text.length <= most && Buffer.byteLength(text) <= most) return text
  const bytes = Buffer.from(text)
  const hash = createHash('sha256')
  for (let at = 0; at < bytes.length; at += STEP_BYTES) {
    hash.update(bytes.subarray(at, at + STEP_BYTES))
    yield
  }
  // A decoder that expects more bytes leaves out a character that the cut goes through.
  const kept = new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes.subarray(0, most), {
    stream: true,
  })
  return `${kept}… [${bytes.length} bytes in all, SHA-256 ${hash.digest('hex')}]`
}
