/**
 * Stores the rows of shards in the SQLite file of the embedded log, and assigns every shard to the process that has the file
 * open. A shard is a set of rows with one owner at a time.
 */
import { isBridgeError } from '../errors.ts'
import { aborted } from '../lifecycle/aborted.ts'
import { yieldToEventLoop } from '../lifecycle/clock.ts'
import { createKeyedMutex } from '../lifecycle/keyed-mutex.ts'
import type { Shard, Shards } from '../log/shards.ts'
import { storedValue } from '../log/stored-value.ts'
import { shardLost, textChanges } from '../log-shared/stored-rows.ts'
import type { StoreParts } from './group-commit.ts'

/** Never aborts: no other process can request the shards. */
const NEVER = new AbortController().signal

/** The `count` shards of that name. */
export function createSqliteShards<V>(
  { db, commits, open, closed }: StoreParts,
  name: string,
  count: number,
): Shards<V> {
  const inTurn = createKeyedMutex()

  const rowsOf = (shard: number): Map<string, V> => {
    const rows = db
      .prepare<{ key: string; value: string }>('SELECT key, value FROM lanes WHERE name = ? AND lane = ?')
      .all(name, shard)
    return new Map(rows.map(({ key, value }) => [key, storedValue<V>(key, value)]))
  }
  const shardOf = (number: number, lost: AbortSignal): Shard<V> => ({
    number,
    rows: rowsOf(number),
    lost,
    releasing: NEVER,
    async write(changes) {
      const texts = textChanges(changes)
      if (lost.aborted) throw shardLost(number)
      await commits.run(() => {
        const put = db.prepare('INSERT OR REPLACE INTO lanes(name, lane, key, value) VALUES (?, ?, ?, ?)')
        const drop = db.prepare('DELETE FROM lanes WHERE name = ? AND lane = ? AND key = ?')
        for (const { key, text } of texts) {
          if (text === null) drop.run(name, number, key)
          else put.run(name, number, key, text)
        }
      })
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
