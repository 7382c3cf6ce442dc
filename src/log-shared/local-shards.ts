/** Assigns every shard to the one process of an embedded or memory log; the adapter stores the rows. */
import { isBridgeError } from '../errors.ts'
import { aborted } from '../lifecycle/aborted.ts'
import { yieldToEventLoop } from '../lifecycle/clock.ts'
import { createKeyedMutex } from '../lifecycle/keyed-mutex.ts'
import type { Shard, Shards } from '../log/shards.ts'
import { storedValue } from '../log/stored-value.ts'
import { shardLost, type TextChange, textChanges } from './stored-rows.ts'

/** Storage of the rows of some shards. */
export interface ShardStore {
  /** The rows of that shard, values as JSON text. Throws BridgeError `log_damaged`, `log_unavailable`. */
  load(shard: number): Iterable<readonly [key: string, text: string]>
  /** All changes or none, in the order of the calls. Rejects with BridgeError `log_unavailable`, `log_damaged`. */
  write(shard: number, changes: readonly TextChange[]): Promise<void>
}

/** Never aborts: no other process can request the shards. */
const NEVER = new AbortController().signal

/** `count` shards in that store. `open` throws once the log is closed; `closed` aborts then. */
export function createLocalShards<V>(
  store: ShardStore,
  count: number,
  { open, closed }: { open(): void; closed: AbortSignal },
): Shards<V> {
  const inTurn = createKeyedMutex()

  const shardOf = (number: number, lost: AbortSignal): Shard<V> => ({
    number,
    rows: new Map([...store.load(number)].map(([key, text]) => [key, storedValue<V>(key, text)])),
    lost,
    releasing: NEVER,
    async write(changes) {
      const texts = textChanges(changes)
      if (lost.aborted) throw shardLost(number)
      await store.write(number, texts)
    },
  })

  const ownUntil = async (work: (shard: Shard<V>) => Promise<void>, stopped: AbortSignal): Promise<void> => {
    const over = new AbortController()
    const lost = AbortSignal.any([over.signal, closed])
    const works: Promise<void>[] = []
    const failed = Promise.withResolvers<never>()
    failed.promise.catch(() => undefined)
    const begin = async (): Promise<void> => {
      for (let number = 0; number < count && !stopped.aborted && !lost.aborted; number++) {
        const done = work(shardOf(number, lost)).catch((error: unknown) => {
          if (!(lost.aborted && isBridgeError(error, 'shard_lost'))) throw error
        })
        done.catch(failed.reject)
        works.push(done)
        await yieldToEventLoop()
      }
      await aborted(stopped)
      await Promise.all(works)
    }
    try {
      await Promise.race([begin(), failed.promise])
    } finally {
      over.abort()
      await Promise.allSettled(works)
    }
  }

  return {
    // A shard loads at once, or `own` fails.
    loadingSinceMs: null,
    async own(work, signal) {
      open()
      await inTurn('own', () => ownUntil(work, AbortSignal.any([signal, closed])))
    },
  }
}
