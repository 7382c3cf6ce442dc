/** Records what a simulated world does to its log, so that `replay.ts` can do the same to a real one. */
import { type BrokenCase, type BrokenVerdict, playBroken } from '../broken/broken-world.ts'
import { World, type WorldOptions } from '../ingest-world.ts'
import type { LogOperation, RecordedWorld } from './operations.ts'

/** Plays a world until that time. */
export function recordWorld(options: WorldOptions, untilMs: number): RecordedWorld {
  const operations: LogOperation[] = []
  const world = new World({ ...options, onLog: (operation) => void operations.push(operation) })
  world.run(untilMs)
  return recordOf(operations, world)
}

/** Plays and checks a world that breaks assumptions. */
export function recordBroken(brokenCase: BrokenCase): { verdict: BrokenVerdict; world: RecordedWorld } {
  const operations: LogOperation[] = []
  let world: RecordedWorld | undefined
  const verdict = playBroken(
    brokenCase,
    (ended) => {
      world = recordOf(operations, ended)
    },
    (operation) => void operations.push(operation),
  )
  if (world === undefined) throw new Error('the world never ended')
  return { verdict, world }
}

function recordOf(operations: readonly LogOperation[], { store }: World): RecordedWorld {
  const { head, ledger, events, rejected } = store
  return { operations, end: { head, ledger }, events, rejected }
}
