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

/** A connection to one address of one origin, borrowed: for one exchange at a time. */
export interface Borrowed {
  dispatcher: Dispatcher
  /** Gives it back; once. One that is not to be used again is ended, with whatever waits for it. */
  release(next: 'again' | 'end'): void
}

/** The connections of a process. */
export type Pools = ReturnType<typeof createPools>

interface Entry {
  /** Those there are. */
  clients: Set<Client>
  /** Of them, those that nobody has; the one used last is the last. */
  idle: Client[]
  cancelEnd: (() => void) | null
}

/** Pools of their own; nothing is shared with other parts of the process. */
export function createPools(options: ConnectOptions) {
  const entries = new Map<string, Entry>()
  const stop = new AbortController()
  const end = async (key: string, { clients }: Entry): Promise<void> => {
    entries.delete(key)
    await Promise.all([...clients].map((client) => client.destroy()))
  }
  const release = (key: string, entry: Entry, client: Client, next: 'again' | 'end'): void => {
    if (next === 'again') entry.idle.push(client)
    else {
      entry.clients.delete(client)
      void client.destroy()
    }
    if (entry.idle.length < entry.clients.size || stop.signal.aborted) return
    entry.cancelEnd = options.clock.after(KEEP_ALIVE_MS, () => void end(key, entry))
  }
  return {
    /** A connection for the target at a judged address. A new one is opened where all are busy: nobody waits for anybody. */
    borrow(target: WebhookTarget, address: string): Borrowed {
      const key = `${target.scheme} ${target.host} ${target.port} ${target.allowedNetsOnly} ${address}`
      const entry: Entry = entries.get(key) ?? { clients: new Set(), idle: [], cancelEnd: null }
      entries.set(key, entry)
      entry.cancelEnd?.()
      entry.cancelEnd = null
      const client = entry.idle.pop() ?? createClient(target, address, options, stop.signal)
      entry.clients.add(client)
      return { dispatcher: client, release: (next) => release(key, entry, client, next) }
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

function createClient(
  target: WebhookTarget,
  address: string,
  options: ConnectOptions,
  signal: AbortSignal,
): Client {
  const host = target.host.includes(':') ? `[${target.host}]` : target.host
  return new Client(`${target.scheme}://${host}:${target.port}`, {
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
