/**
 * Keeps open connections for later webhook deliveries, by origin and address, idle for four seconds at most. The
 * connection used last is reused first and found without a search; undici's Pool would look at all busy ones, hundreds
 * in a burst.
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
  client: Client
  /** When it was given back last, ms since 1970. */
  idleSinceMs: number
  /** For how long its socket was idle before it was borrowed; 0 where it was opened since. */
  idledMs: number
}

interface Entry {
  /** Those there are. */
  connections: Set<Connection>
  /** Of them, those that nobody has; the one used last is the last. */
  idle: Connection[]
  cancelEnd: (() => void) | null
}

/** Pools of their own; nothing is shared with other parts of the process. */
export function createPools(options: ConnectOptions) {
  const entries = new Map<string, Entry>()
  const stop = new AbortController()
  const end = async (key: string, { connections }: Entry): Promise<void> => {
    entries.delete(key)
    await Promise.all([...connections].map(({ client }) => client.destroy()))
  }
  const release = (key: string, entry: Entry, connection: Connection, next: 'again' | 'end'): void => {
    if (next === 'again') {
      connection.idleSinceMs = options.clock.now()
      entry.idle.push(connection)
    } else {
      entry.connections.delete(connection)
      void connection.client.destroy()
    }
    if (entry.idle.length < entry.connections.size || stop.signal.aborted) return
    entry.cancelEnd = options.clock.after(KEEP_ALIVE_MS, () => void end(key, entry))
  }
  return {
    /**
     * A connection for the target at a judged address. A new one is opened where all are busy, because nobody waits for anybody,
     * or where it is to be `new`.
     */
    borrow(target: WebhookTarget, address: string, which: 'any' | 'new' = 'any'): Borrowed {
      const key = `${target.scheme} ${target.host} ${target.port} ${target.allowedNetsOnly} ${address}`
      const entry: Entry = entries.get(key) ?? { connections: new Set(), idle: [], cancelEnd: null }
      entries.set(key, entry)
      entry.cancelEnd?.()
      entry.cancelEnd = null
      const idle = which === 'new' ? undefined : entry.idle.pop()
      const connection = idle ?? createConnection(target, address, options, stop.signal)
      if (idle !== undefined) idle.idledMs = options.clock.now() - idle.idleSinceMs
      entry.connections.add(connection)
      return {
        dispatcher: connection.client,
        hadIdled: () => connection.idledMs >= LONG_IDLE_MS,
        release: (next) => release(key, entry, connection, next),
      }
    },
    /** How many origins and addresses have connections, or had some in the last seconds. */
    size: (): number => entries.size,
    /** Ends everything, attempts that are under way too. */
    async close(): Promise<void> {
      stop.abort(new ConnectFault('connect', 'aborted'))
      const ends = [...entries].map(([key, entry]) => {
        entry.cancelEnd?.()
        return end(key, entry)
      })
      await Promise.all(ends)
    },
  }
}

function createConnection(
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
  const connection = { client, idleSinceMs: 0, idledMs: 0 }
  return connection
}
