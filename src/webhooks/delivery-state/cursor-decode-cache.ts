/**
 * Caches decoded log cursors: one event goes to many endpoints, so rows and deliveries repeat the same few cursor texts.
 */
import { type Cursor, decodeCursor } from '../../core/cursor.ts'

/** Most texts in the cache; one more empties it. */
const MAX_CACHED_CURSORS = 1000

/** Decodes a cursor. @throws BridgeError as `decodeCursor` */
export type ReadCursor = (text: string) => Cursor

/** A decoder that decodes each text once, as long as the text stays in its cache. */
export function createCursorDecodeCache(): ReadCursor {
  const cached = new Map<string, Cursor>()
  return (text) => {
    const known = cached.get(text)
    if (known !== undefined) return known
    const cursor = decodeCursor(text)
    if (cached.size >= MAX_CACHED_CURSORS) cached.clear()
    cached.set(text, cursor)
    return cursor
  }
}
