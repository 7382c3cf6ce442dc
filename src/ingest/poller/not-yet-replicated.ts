/**
 * Remembers committed revisions until this node's replica has them; without this, the next page would publish them again.
 */
import { type Committed, isGap, itemOf, revisionOf } from '../../core/event.ts'
import type { PublishedRevision } from './read-page.ts'

/** The part of the replica that is used here. */
export interface KnownCopy {
  /** Sequence up to which the replica is complete. */
  readonly latest: number
  /** The latest revision of each of these guids in the replica. */
  known(guids: readonly string[]): ReadonlyMap<string, PublishedRevision>
}

export interface Ahead {
  /** Remembers committed events, and drops those that the replica has by now. */
  remember(events: readonly Committed[]): void
  /** The latest revision of each of these guids, in the replica or not yet replicated. */
  standings(guids: readonly string[]): ReadonlyMap<string, PublishedRevision>
  /** Drops everything: a claim waits until the replica is up to date. */
  clear(): void
  readonly size: number
}

/** Creates an empty set over this replica. */
export function createAhead(copy: KnownCopy): Ahead {
  const ahead = new Map<string, PublishedRevision & { sequence: number }>()
  return {
    remember(events) {
      for (const [guid, { sequence }] of ahead) if (sequence <= copy.latest) ahead.delete(guid)
      for (const event of events) {
        if (event.sequence <= copy.latest || isGap(event.type)) continue
        const read = itemOf(event)
        if (!read.ok) continue
        const { disclosure, hash } = read.item
        const { guid } = disclosure
        ahead.set(guid, {
          revision: revisionOf(event.id, guid),
          hash,
          sequence: event.sequence,
        })
      }
    },
    standings(guids) {
      const known = new Map(copy.known(guids))
      for (const guid of guids) {
        const standing = ahead.get(guid)
        if (standing !== undefined && standing.sequence > copy.latest) known.set(guid, standing)
      }
      return known
    },
    clear: () => ahead.clear(),
    get size() {
      return ahead.size
    },
  }
}
