/** Owns shards for the log suites: it keeps what it is assigned until it is stopped. */
import { aborted } from '../../src/lifecycle/aborted.ts'
import { createWakeup } from '../../src/lifecycle/wakeup.ts'
import type { Log } from '../../src/log/log.ts'
import type { Shard } from '../../src/log/shards.ts'
import type { Change } from '../../src/log/tables.ts'

/** Values of the suites' shards. */
export type Row = unknown

export interface Owner {
  /** Shards owned now, by number. */
  readonly held: ReadonlyMap<number, Shard<Row>>
  /** Every shard that was assigned, in order. */
  readonly came: readonly Shard<Row>[]
  /** Resolves when at least that many are owned. */
  holds(count: number): Promise<void>
  /** Resolves with the shard once it is owned. */
  shard(number: number): Promise<Shard<Row>>
  /** Releases all shards. */
  stop(): Promise<void>
  /** Rejects as `own` does. */
  readonly ended: Promise<void>
}

/** Starts an owner of shards of that name. */
export function beginOwning(log: Log, name: string, count: number): Owner {
  const stopping = new AbortController()
  const wakeup = createWakeup()
  const held = new Map<number, Shard<Row>>()
  const came: Shard<Row>[] = []
  const ended = log.shards<Row>(name, count).own(async (shard) => {
    held.set(shard.number, shard)
    came.push(shard)
    wakeup.wake()
    await aborted(AbortSignal.any([shard.lost, shard.releasing, stopping.signal]))
    if (held.get(shard.number) === shard) held.delete(shard.number)
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
    async shard(number) {
      await until(() => held.has(number))
      return held.get(number) as Shard<Row>
    },
    async stop() {
      stopping.abort()
      await ended
    },
  }
}

/** Puts one row. */
export function putRow(shard: Shard<Row>, key: string, value: Row): Promise<void> {
  return shard.write([{ key, value }])
}

/** The changes that put those rows. */
export function puts(rows: Record<string, Row>): Change<Row>[] {
  return Object.entries(rows).map(([key, value]) => ({ key, value }))
}

/** The rows that the next owner finds in the shards, by number; it releases them again. */
export async function foundBy(log: Log, name: string, count: number): Promise<Record<string, Row>[]> {
  const owner = beginOwning(log, name, count)
  await owner.holds(count)
  const found = Array.from({ length: count }, (_, number) => {
    return Object.fromEntries(owner.held.get(number)?.rows ?? [])
  })
  await owner.stop()
  return found
}
