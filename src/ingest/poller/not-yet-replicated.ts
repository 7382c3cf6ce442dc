/**
 * Revisions that are committed and that this node's copy does not hold yet: without them the next page would publish
 * them again. Owns what is remembered and until when. Refuses to ask the log.
 */
import { type Committed, isGap, itemOf, revisionOf } from '../../core/event.ts'
import type { PublishedRevision } from './read-page.ts'

/** What it asks of the copy. */
export interface KnownCopy {
  /** Sequence up to which the copy holds everything. */
  readonly latest: number
  /** The latest revision of each of these guids that the copy holds. */
  known(guids: readonly string[]): ReadonlyMap<string, PublishedRevision>
}

export interface Ahead {
  /** Remembers committed events, and forgets what the copy holds by now. */
  remember(events: readonly Committed[]): void
  /** The latest revision of each of these guids, held by the copy or on its way there. */
  standings(guids: readonly string[]): ReadonlyMap<string, PublishedRevision>
  /** Forgets everything: whoever claims waits for the copy first. */
  clear(): void
  readonly size: number
}

/** Nothing remembered yet. */
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
