/**
 * Connections that are kept for the next attempt, by origin and address. Owns their life: idle for four seconds at most, so
 * that no connection outlives by much the resolution it came from. Refuses to resolve: who has no judged address gets none.
 */
import { type Dispatcher, Pool } from 'undici'
import { type ConnectOptions, connectTo } from './connector.ts'
import type { Target } from './judge-url.ts'

/** Idle connections of a receiver end after this; Node's servers keep theirs five seconds. */
const KEEP_ALIVE_MS = 4_000
/** Largest head of an answer. */
const LARGEST_HEAD_BYTES = 16 * 1024

/** Connections to one address of one origin, borrowed. */
export interface Borrowed {
  dispatcher: Dispatcher
  /** Gives it back; once. */
  release(): void
}

export interface Pools {
  /** Connections for the target at a judged address. A new one is opened where all are busy: nobody waits for anybody. */
  borrow(target: Target, address: string): Borrowed
  /** How many origins and addresses have connections, or had some in the last seconds. */
  size(): number
  /** Ends everything, attempts that are under way too. */
  close(): Promise<void>
}

interface Entry {
  pool: Pool
  users: number
  cancelEnd: (() => void) | null
}

/** Pools of their own; nothing is shared with other parts of the process. */
export function createPools(options: ConnectOptions): Pools {
  const entries = new Map<string, Entry>()
  const stop = new AbortController()
  const end = (key: string, { pool }: Entry): Promise<void> => {
    entries.delete(key)
    return pool.destroy()
  }
  return {
    borrow(target, address) {
      const key = `${target.scheme} ${target.host} ${target.port} ${target.allowedNetsOnly} ${address}`
      const entry = entries.get(key) ?? {
        pool: createPool(target, address, options, stop.signal),
        users: 0,
        cancelEnd: null,
      }
      entries.set(key, entry)
      entry.cancelEnd?.()
      entry.cancelEnd = null
      entry.users++
      return {
        dispatcher: entry.pool,
        release() {
          entry.users--
          if (entry.users > 0 || stop.signal.aborted) return
          entry.cancelEnd = options.clock.after(KEEP_ALIVE_MS, () => void end(key, entry))
        },
      }
    },
    size: () => entries.size,
    async close() {
      stop.abort()
      const ends = [...entries].map(([key, entry]) => {
        entry.cancelEnd?.()
        return end(key, entry)
      })
      await Promise.all(ends)
    },
  }
}

function createPool(target: Target, address: string, options: ConnectOptions, signal: AbortSignal): Pool {
  const host = target.host.includes(':') ? `[${target.host}]` : target.host
  return new Pool(`${target.scheme}://${host}:${target.port}`, {
    connect: (_options, callback) => {
      connectTo(target, address, options, signal).then(
        (socket) => callback(null, socket),
        (error: Error) => callback(error, null),
      )
    },
    allowH2: false,
    pipelining: 1,
    maxHeaderSize: LARGEST_HEAD_BYTES,
    keepAliveTimeout: KEEP_ALIVE_MS,
    keepAliveMaxTimeout: KEEP_ALIVE_MS,
    // The attempt has limits of its own, by the injected clock.
    headersTimeout: 0,
    bodyTimeout: 0,
  })
}
