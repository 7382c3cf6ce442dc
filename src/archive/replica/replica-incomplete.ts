/**
 * The answer 503 of a node whose copy of the log is not whole. Owns its words; every route that reads the copy shares it.
 */

import { retryLater } from '../../http/problem.ts'
import type { CopyState, Filling } from '../store/replica-progress.ts'

/** @throws HttpProblem `unavailable`, saying how far the copy is, while it is filled */
export function refuseWhileFilling({ filling }: CopyState): void {
  if (filling !== null) throw retryLater('unavailable', wordsFor(filling))
}

function wordsFor({ sequence, goal, share }: Filling): string {
  if (goal === null) return 'this node has not compared its copy with the log yet'
  const percent = Math.floor(share * 100)
  return `this node is filling its copy of the log: ${percent} % is here, up to event ${sequence} of ${goal}`
}
