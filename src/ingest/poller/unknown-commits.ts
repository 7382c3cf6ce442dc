/** Tells what became of a commit with an unknown outcome, from the state that the next claim has read. */
import type { IngestState } from '../machine/state.ts'
import type { PollerCommit } from '../writer-state/poller-writer.ts'

type Known = Pick<IngestState, 'name' | 'head'>

/** None is unknown yet. */
export function createUnknownCommits() {
  /** Of the last state: the sequence before the commit in flight. */
  let sequence = 0
  let waiting: { commit: PollerCommit; after: number } | null = null
  return {
    /** The outcome of this commit is unknown. At most one is in flight. */
    add(commit: PollerCommit): void {
      waiting = { commit, after: sequence }
    },
    /**
     * To be called with each state. The commit with its outcome, once this process has claimed again; null before, and for
     * good where another process led meanwhile, or where the commit changed nothing by which it could be found.
     */
    resolvedBy({ name, head }: Known): { commit: PollerCommit; outcome: 'committed' | 'aborted' } | null {
      sequence = head.sequence
      const found = name === 'catching-up' ? waiting : null
      if (name === 'catching-up' || name === 'standby') waiting = null
      if (found === null) return null
      const { commit, after } = found
      const isIn = commit.events.length > 0 ? head.sequence > after : hasChanges(head, commit.head ?? {})
      return isIn === null ? null : { commit, outcome: isIn ? 'committed' : 'aborted' }
    },
  }
}

/** Whether the head has every change; null: there is none. */
function hasChanges(head: Known['head'], changes: NonNullable<PollerCommit['head']>): boolean | null {
  const fields = Object.keys(changes) as (keyof typeof changes)[]
  if (fields.length === 0) return null
  return fields.every((field) => JSON.stringify(head[field]) === JSON.stringify(changes[field]))
}
