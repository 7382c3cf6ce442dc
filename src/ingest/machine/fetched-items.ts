/**
 * Items held in memory until they are published. Owns that each revision is held once. Refuses to look at the log:
 * the shell has already left out what is published.
 */
import type { HeldItem } from './state.ts'

/** What is held, and the latest revision of each guid held so far, published since or not. */
export interface Held {
  held: HeldItem[]
  latest: ReadonlyMap<string, HeldItem>
}

/**
 * The held items with the fresh ones added: the same content of a guid is held once; other content of a guid that was
 * already held becomes its next revision.
 */
export function addHeld({ held, latest }: Held, fresh: readonly HeldItem[]): Held {
  const known = new Map(latest)
  const all = [...held]
  for (const item of fresh) {
    const standing = known.get(item.disclosure.guid)
    if (standing?.hash === item.hash) continue
    const next = standing === undefined ? item : { ...item, revision: standing.revision + 1 }
    known.set(item.disclosure.guid, next)
    all.push(next)
  }
  return { held: all, latest: known }
}

/** The latest revision of each guid among these items. */
export function latestOf(items: readonly HeldItem[]): ReadonlyMap<string, HeldItem> {
  return new Map(items.map((item) => [item.disclosure.guid, item]))
}
