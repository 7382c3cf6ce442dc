/**
 * Keeps open connections for later webhook deliveries, by origin and address, idle for four seconds at most, and only
 * as many as the process may have. The connection used last is reused first and found without a search; undici's Pool
 * would look at all busy ones, hundreds in a burst.
 */
import { Client, type Dispatcher } from 'undici'
import { ConnectFault } from './connect-fault.ts'
import { type ConnectOptions, connectTo } from './connector.ts'
import type { WebhookTarget } from './judge-url.ts'

/** Idle connections of a receiver end after this; Node's servers keep theirs five seconds. */
const KEEP_ALIVE_MS = 4_000
/** Largest head of an answer. */
const LARGEST_HEAD_BYTES = 16 * 1024
/** A receiver may just be ending a connection that idled for so long: their limits of idling are a second and more. */
const LONG_IDLE_MS = 1_000

/** A connection to one address of one origin, borrowed: for one exchange at a time. */
export interface Borrowed {
  dispatcher: Dispatcher
  /** Whether it was open before, and idle for so long that its receiver may have ended it as the request left. */
  hadIdled(): boolean
  /** Gives it back; once. One that is not to be used again is ended, with whatever waits for it. */
  release(next: 'again' | 'end'): void
}

/** The connections of a process. */
export type Pools = ReturnType<typeof createPools>

/** A client of undici has one socket at a time; it opens another where that one ended. */
interface Connection {
  /** Origin and address. */
  key: string
  client: Client
  /** When it was given back last, ms since 1970. */
  idleSinceMs: number
  /** For how long its socket was idle before it was borrowed; 0 where it was opened since. */
  idledMs: number
}

/** What pools need. */
export interface PoolsOptions extends ConnectOptions {
  /** Each connection takes an open file, also while it idles: where there are so many, a new one ends the one that has idled longest. */
  mostConnections: number
}

/** Pools of their own; nothing is shared with other parts of the process. */
export function createPools(options: PoolsOptions) {
  const { clock, mostConnections } = options
  const open = new Set<Connection>()
  /** Of them, those that nobody has; the one that has idled longest is the first. */
  const idle = new Set<Connection>()
  /** The same by origin and address, in the same order. */
  const idleByKey = new Map<string, Connection[]>()
  const stop = new AbortController()
  let cancelTimer: (() => void) | null = null

  const end = async (connection: Connection): Promise<void> => {
    open.delete(connection)
    await connection.client.destroy()
  }
  const leaveIdle = (connection: Connection): Connection => {
    const same = idleByKey.get(connection.key) ?? []
    same.splice(same.lastIndexOf(connection), 1)
    if (same.length === 0) idleByKey.delete(connection.key)
    idle.delete(connection)
    return connection
  }
  const endIdle = (): void => {
    cancelTimer = null
    for (const connection of idle) {
      const leftMs = connection.idleSinceMs + KEEP_ALIVE_MS - clock.now()
      if (leftMs > 0) return endIdleAfter(leftMs)
      void end(leaveIdle(connection))
    }
  }
  const endIdleAfter = (delayMs: number): void => {
    // The clock may have been set back.
    cancelTimer ??= clock.after(Math.min(delayMs, KEEP_ALIVE_MS), endIdle)
  }
  const release = (connection: Connection, next: 'again' | 'end'): void => {
    if (next === 'end' || stop.signal.aborted) return void end(connection)
    connection.idleSinceMs = clock.now()
    idle.add(connection)
    const same = idleByKey.get(connection.key)
    if (same === undefined) idleByKey.set(connection.key, [connection])
    else same.push(connection)
    endIdleAfter(KEEP_ALIVE_MS)
  }
  const reuse = (key: string): Connection | null => {
    const last = idleByKey.get(key)?.at(-1)
    if (last === undefined) return null
    last.idledMs = clock.now() - last.idleSinceMs
    return leaveIdle(last)
  }
  const create = (key: string, target: WebhookTarget, address: string): Connection => {
    const [longest] = idle
    if (open.size >= mostConnections && longest !== undefined) void end(leaveIdle(longest))
    const connection = createConnection(key, target, address, options, stop.signal)
    open.add(connection)
    return connection
  }
  return {
    /**
     * A connection for the target at a judged address. A new one is opened where all are busy, because nobody waits for anybody,
     * or where it is to be `new`.
     */
    borrow(target: WebhookTarget, address: string, which: 'any' | 'new' = 'any'): Borrowed {
      const key = `${target.scheme} ${target.host} ${target.port} ${target.allowedNetsOnly} ${address}`
      const connection = (which === 'any' ? reuse(key) : null) ?? create(key, target, address)
      return {
        dispatcher: connection.client,
        hadIdled: () => connection.idledMs >= LONG_IDLE_MS,
        release: (next) => release(connection, next),
      }
    },
    /** How many connections there are, those that idle too. */
    size: (): number => open.size,
    /** Ends everything, attempts that are under way too. */
    async close(): Promise<void> {
      stop.abort(new ConnectFault('connect', 'aborted'))
      cancelTimer?.()
      await Promise.all([...open].map(end))
    },
  }
}

function createConnection(
  key: string,
  target: WebhookTarget,
  address: string,
  options: ConnectOptions,
  signal: AbortSignal,
): Connection {
  const host = target.host.includes(':') ? `[${target.host}]` : target.host
  const client = new Client(`${target.scheme}://${host}:${target.port}`, {
    connect: (_options, callback) => {
      connection.idledMs = 0
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
  const connection = { key, client, idleSinceMs: 0, idledMs: 0 }
  return connection
}
