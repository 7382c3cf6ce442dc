/**
 * Remembers the last events by id and content, so that a repeated event is dropped. The id alone does not name an event:
 * after a change of epoch it may come with other content.
 */

/** Remembers the last events. */
export interface Seen {
  /** True the first time; false for an event among the last ones. `json`: the event's text. */
  isNew(id: string, json: string): boolean
}

/** Remembers the last `limit` events. */
export function createSeen(limit: number): Seen {
  // A set iterates in insertion order.
  const keys = new Set<string>()
  return {
    isNew(id, json) {
      const key = `${id} ${contentKey(json)}`
      if (keys.has(key)) return false
      keys.add(key)
      if (keys.size > limit) {
        const [oldest = key] = keys
        keys.delete(oldest)
      }
      return true
    },
  }
}

/** Where the content begins: `data` is the last member, and inside an attribute the quotes would be escaped. */
const DATA = ',"data":'
/** Odd multipliers and different starts, so that the two hashes are independent. */
const FIRST = { start: 0x811c9dc5, factor: 0x01000193 }
const SECOND = { start: 0x2f0b4a27, factor: 0x5bd1e995 }

/** A 64-bit hash of the event's content. It is not cryptographic: browsers have no synchronous one. */
function contentKey(json: string): string {
  const at = json.indexOf(DATA)
  let first = FIRST.start
  let second = SECOND.start
  for (let place = at < 0 ? json.length : at; place < json.length; place++) {
    const unit = json.charCodeAt(place)
    first = Math.imul(first ^ unit, FIRST.factor)
    second = Math.imul(((second << 5) | (second >>> 27)) ^ unit, SECOND.factor)
  }
  return `${(first >>> 0).toString(36)}.${(second >>> 0).toString(36)}`
}
