/**
 * Lanes of the logs that have no other process (embedded, memory): whoever owns has all of them. Owns the course of an
 * ownership. Refuses to store: the adapter does.
 */
import { isBridgeError } from '../errors.ts'
import { aborted } from '../lifecycle/aborted.ts'
import { yieldTurn } from '../lifecycle/clock.ts'
import { createTurns } from '../lifecycle/turns.ts'
import type { Lane, Lanes } from '../log/log.ts'
import { laneLost, type TextChange, textChanges } from './stored-rows.ts'
import { storedValue } from './stored-value.ts'

/** Where the rows of some lanes lie. */
export interface LaneStore {
  /** The rows of that lane, values as JSON text. Throws BridgeError `log_damaged`, `log_unavailable`. */
  load(lane: number): Iterable<readonly [key: string, text: string]>
  /** All of it or none, in the order of the calls. Rejects with BridgeError `log_unavailable`, `log_damaged`. */
  write(lane: number, changes: readonly TextChange[]): Promise<void>
}

/** There is nobody to leave them to. */
const NEVER = new AbortController().signal

/** `count` lanes in that store. `open` throws once the log is closed, which `closed` tells. */
export function createLocalLanes<V>(
  store: LaneStore,
  count: number,
  { open, closed }: { open(): void; closed: AbortSignal },
): Lanes<V> {
  const inTurn = createTurns()

  const laneOf = (number: number, lost: AbortSignal): Lane<V> => ({
    number,
    rows: new Map([...store.load(number)].map(([key, text]) => [key, storedValue<V>(key, text)])),
    lost,
    leaving: NEVER,
    async write(changes) {
      const texts = textChanges(changes)
      if (lost.aborted) throw laneLost(number)
      await store.write(number, texts)
    },
  })

  const ownUntil = async (work: (lane: Lane<V>) => Promise<void>, stopped: AbortSignal): Promise<void> => {
    const over = new AbortController()
    const lost = AbortSignal.any([over.signal, closed])
    const works: Promise<void>[] = []
    const failed = Promise.withResolvers<never>()
    failed.promise.catch(() => undefined)
    const begin = async (): Promise<void> => {
      for (let number = 0; number < count && !stopped.aborted && !lost.aborted; number++) {
        const done = work(laneOf(number, lost)).catch((error: unknown) => {
          if (!(lost.aborted && isBridgeError(error, 'lane_lost'))) throw error
        })
        done.catch(failed.reject)
        works.push(done)
        await yieldTurn()
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
    // A lane is loaded as soon as it is asked for, or the ownership ends.
    loadingSinceMs: null,
    async own(work, signal) {
      open()
      await inTurn('own', () => ownUntil(work, AbortSignal.any([signal, closed])))
    },
  }
}
