/**
 * Starts a stream server on one core and its clients on another, and exchanges messages with both, for `npm run bench
 * -- feed`.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { cpuSeconds, residentMb } from '../process-usage.ts'
import { pin } from '../webhook-bench.ts'
import type {
  ClientsAnswer,
  ClientsWanted,
  ClientsWord,
  CommitTime,
  ServerAnswer,
  ServerWord,
} from './feed-words.ts'

const SERVER_CORE = '0'
const CLIENTS_CORE = '1'

/** Which server it is. */
export type ServerKind = 'bridge' | 'plain' | 'socketio' | 'bare'

/** A server of streams in a process of its own. */
export interface FeedServer extends Disposable {
  pid: number
  port: number
  /** Commits so many events of about that size; when they were committed, ms since 1970. */
  commit(count: number, bytes: number): Promise<number>
  /** Resolves when readers see everything that was committed. */
  settled(): Promise<void>
  /** Memory that is resident after garbage was collected, MB. */
  restingMb(): Promise<number>
  /** CPU since it began, s. */
  cpu(): number
}

/** Clients in a process of their own. */
export interface FeedClients extends Disposable {
  /** Resolves when all of them have received `live`. */
  open(wanted: Omit<ClientsWanted, 'do'>): Promise<void>
  reset(): Promise<void>
  /** Events that came since. */
  count(): Promise<number>
  /** How late they came. */
  report(commits: CommitTime[]): Promise<ClientsAnswer>
  close(): Promise<void>
}

/** Starts a server. */
export async function startServer(kind: ServerKind): Promise<FeedServer> {
  const child = fork(join(import.meta.dirname, 'feed-server-child.ts'), [kind], { execArgv: ['--expose-gc'] })
  const pid = pidOf(child)
  pin(pid, SERVER_CORE)
  const { port } = await heard<ServerAnswer>(child)
  const ask = (word: ServerWord): Promise<ServerAnswer> => said(child, word)
  return {
    pid,
    port,
    commit: async (count, bytes) => (await ask({ do: 'commit', count, bytes })).atMs,
    settled: async () => void (await ask({ do: 'settle' })),
    async restingMb() {
      await ask({ do: 'collect' })
      return residentMb(pid)
    },
    cpu: () => cpuSeconds(pid),
    [Symbol.dispose]: () => void child.kill('SIGTERM'),
  }
}

/** Starts a process of clients, none open. */
export async function startClients(): Promise<FeedClients> {
  const child = fork(join(import.meta.dirname, 'feed-clients-child.ts'))
  pin(pidOf(child), CLIENTS_CORE)
  await heard(child)
  const ask = (word: ClientsWord): Promise<ClientsAnswer> => said(child, word)
  return {
    open: async (wanted) => void (await ask({ do: 'open', ...wanted })),
    reset: async () => void (await ask({ do: 'reset' })),
    count: async () => (await ask({ do: 'count' })).events,
    report: (commits) => ask({ do: 'report', commits }),
    close: async () => void (await ask({ do: 'close' })),
    [Symbol.dispose]: () => void child.kill('SIGKILL'),
  }
}

function pidOf({ pid }: ChildProcess): number {
  if (pid === undefined) throw new Error('the process did not start')
  return pid
}

async function said<Answer>(child: ChildProcess, word: ServerWord | ClientsWord): Promise<Answer> {
  const answer = heard<Answer>(child)
  child.send(word)
  return await answer
}

/** The next message; rejects where the process ends instead. */
async function heard<Answer>(child: ChildProcess): Promise<Answer> {
  const over = new AbortController()
  try {
    const [message] = await Promise.race([
      once(child, 'message', over),
      once(child, 'exit', over).then(([code]) => {
        throw new Error(`a process of the bench ended with ${code}`)
      }),
    ])
    return message as Answer
  } finally {
    over.abort()
  }
}
