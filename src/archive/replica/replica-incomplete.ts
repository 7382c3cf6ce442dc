/**
 * Answers 503 while this node's replica of the log is incomplete. Every route that reads the replica calls it.
 */
import { retryLater } from '../../http/problem.ts'
import type { Filling, ReplicaState } from '../store/replica-progress.ts'

/** @throws HttpProblem `unavailable` with the progress, while the replica is being filled */
export function requireCompleteReplica({ filling }: ReplicaState): void {
  if (filling !== null) throw retryLater('unavailable', detailOf(filling))
}

function detailOf({ sequence, goal, share }: Filling): string {
  if (goal === null) return 'this node has not compared its replica with the log yet'
  const percent = Math.floor(share * 100)
  return `this node is filling its replica of the log: ${percent} % done, event ${sequence} of ${goal}`
}
