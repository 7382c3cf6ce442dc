/**
 * Cursors of the log as they come in rows and deliveries: one event goes to many endpoints, so that the same few texts come
 * over and over. Owns a bounded memory of what they say. Refuses to know what a cursor is: `core/cursor.ts` does.
 */
import { type Cursor, decodeCursor } from '../../core/cursor.ts'

/** Above this many texts remembered, all are forgotten. */
const MOST_CURSORS = 1000

/** What the text of a cursor says; throws as `decodeCursor`. */
export type ReadCursor = (text: string) => Cursor

/** Reads each text once as long as it is remembered. */
export function createCursorMemory(): ReadCursor {
  const known = new Map<string, Cursor>()
  return (text) => {
    const before = known.get(text)
    if (before !== undefined) return before
    const cursor = decodeCursor(text)
    if (known.size >= MOST_CURSORS) known.clear()
    known.set(text, cursor)
    return cursor
  }
}
