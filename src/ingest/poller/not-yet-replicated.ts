/**
 * Remembers the item revisions that were just committed to the log, until this node's replica of the log has them. Otherwise
 * the next page with the same items would publish them again.
 */
import type { Archive, StoredRevision } from '../../archive/store/archive.ts'
import { type Committed, isGap, itemOf, revisionOf } from '../../core/event.ts'

/** The latest revision of each guid that this replica does not have yet; empty at first. */
export class NotYetReplicated {
  readonly #replica: Pick<Archive, 'latest' | 'known'>
  readonly #revisions = new Map<string, StoredRevision & { sequence: number }>()

  constructor(replica: Pick<Archive, 'latest' | 'known'>) {
    this.#replica = replica
  }

  /** How many revisions are remembered. */
  get size(): number {
    return this.#revisions.size
  }

  /** Remembers committed events, and drops those that the replica has by now. */
  remember(events: readonly Committed[]): void {
    const { latest } = this.#replica
    for (const [guid, { sequence }] of this.#revisions) if (sequence <= latest) this.#revisions.delete(guid)
    for (const event of events) {
      if (event.sequence <= latest || isGap(event.type)) continue
      const read = itemOf(event)
      if (!read.ok) continue
      const { disclosure, hash } = read.item
      const revision = revisionOf(event.id, disclosure.guid)
      this.#revisions.set(disclosure.guid, { revision, hash, sequence: event.sequence })
    }
  }

  /** The latest revision of each of these guids, in the replica or not yet replicated. */
  latestOf(guids: readonly string[]): ReadonlyMap<string, StoredRevision> {
    const known = new Map(this.#replica.known(guids))
    for (const guid of guids) {
      const remembered = this.#revisions.get(guid)
      if (remembered === undefined || remembered.sequence <= this.#replica.latest) continue
      const { revision, hash } = remembered
      known.set(guid, { revision, hash })
    }
    return known
  }

  /** Drops everything: a claim waits until the replica is up to date. */
  clear(): void {
    this.#revisions.clear()
  }
}
