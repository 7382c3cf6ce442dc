/**
 * An owner of lanes for the suites of the log: it holds what it gets until it is told to stop. Owns its bookkeeping only.
 */
import { aborted } from '../../src/lifecycle/aborted.ts'
import { createWakeup } from '../../src/lifecycle/wakeup.ts'
import type { Change, Lane, Log } from '../../src/log/log.ts'

/** Values of the suites' lanes. */
export type Row = unknown

export interface Owner {
  /** Lanes held now, by number. */
  readonly held: ReadonlyMap<number, Lane<Row>>
  /** Every lane that came, in the order of coming. */
  readonly came: readonly Lane<Row>[]
  /** Resolves when at least that many are held. */
  holds(count: number): Promise<void>
  /** Resolves with the lane when it is held. */
  lane(number: number): Promise<Lane<Row>>
  /** Gives everything up. */
  stop(): Promise<void>
  /** Rejects as `own` does. */
  readonly ended: Promise<void>
}

/** Begins to own lanes of that name. */
export function beginOwning(log: Log, name: string, count: number): Owner {
  const stopping = new AbortController()
  const wakeup = createWakeup()
  const held = new Map<number, Lane<Row>>()
  const came: Lane<Row>[] = []
  const ended = log.lanes<Row>(name, count).own(async (lane) => {
    held.set(lane.number, lane)
    came.push(lane)
    wakeup.wake()
    await aborted(AbortSignal.any([lane.lost, lane.leaving, stopping.signal]))
    if (held.get(lane.number) === lane) held.delete(lane.number)
    wakeup.wake()
  }, stopping.signal)
  const failed = ended.then(() => {
    throw new Error('owning has ended')
  })
  failed.catch(() => undefined)
  const until = async (isThere: () => boolean): Promise<void> => {
    while (!isThere()) await Promise.race([wakeup.wait(new AbortController().signal), failed])
  }
  return {
    held,
    came,
    ended,
    holds: (wanted) => until(() => held.size >= wanted),
    async lane(number) {
      await until(() => held.has(number))
      return held.get(number) as Lane<Row>
    },
    async stop() {
      stopping.abort()
      await ended
    },
  }
}

/** Puts one row. */
export function putRow(lane: Lane<Row>, key: string, value: Row): Promise<void> {
  return lane.write([{ key, value }])
}

/** Changes that put those rows. */
export function puts(rows: Record<string, Row>): Change<Row>[] {
  return Object.entries(rows).map(([key, value]) => ({ key, value }))
}

/** What the next owner finds in the lanes, by number; it gives them up again. */
export async function foundBy(log: Log, name: string, count: number): Promise<Record<string, Row>[]> {
  const owner = beginOwning(log, name, count)
  await owner.holds(count)
  const found = Array.from({ length: count }, (_, number) => {
    return Object.fromEntries(owner.held.get(number)?.rows ?? [])
  })
  await owner.stop()
  return found
}
