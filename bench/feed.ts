/**
 * Measures the live feed: `npm run bench -- feed`. Figures are CPU and delay of a delivery, memory of an idle
 * connection, the effect of stalled clients on others, replay, and the subscription index. Baselines are a plain `ws`
 * broadcast and Socket.IO. Server and clients each run on their own core.
 */
import { setTimeout as wait } from 'node:timers/promises'
import { indexFigures } from './feed-index.ts'
import { type Figure, formatFigure } from './figures.ts'
import {
  type FeedClients,
  type FeedServer,
  type ServerKind,
  startClients,
  startServer,
} from './support/streams/feed-bench.ts'
import type { ClientsWanted, CommitTime } from './support/streams/feed-words.ts'

const RUNS = 5
/** Of an event in the bursts, and of one in the comparison. */
const LARGE = 2400
const USUAL = 1450
const LONGEST_MS = 120_000

/** Figures by name, a value a run. */
type Taken = Map<string, number[]>

/** The lines to print. */
export async function feedLines(runs: number = RUNS): Promise<string[]> {
  const taken: Taken = new Map()
  for (let run = 0; run < runs; run++) {
    await compare(taken)
    await burst(taken)
    await filtered(taken)
    await idle(taken)
    await stalled(taken)
    await replay(taken)
  }
  const figure = (name: string, unit: string, goal?: Figure['goal']): Figure => ({
    name,
    unit,
    values: taken.get(name) ?? [],
    ...(goal && { goal }),
  })
  const against = (what: string, unit: string): Figure => ({
    ...figure(`${STEADY}: ${what}`, unit),
    baselines: (['plain', 'socketio'] as const).map((kind) => ({
      name: kind === 'plain' ? 'plain ws' : 'Socket.IO',
      values: taken.get(`${kind}: ${what}`) ?? [],
    })),
  })
  const besideBare = (name: string, unit: string, goal?: Figure['goal']): Figure => ({
    ...figure(name, unit, goal),
    baselines: [{ name: 'a bare loop of writes', values: taken.get(`bare: ${name}`) ?? [] }],
  })
  const figures = [
    against('CPU a delivery', 'µs'),
    against('p99 behind its time', 'ms'),
    against('deliveries a second, in a burst', '/s'),
    against('an idle connection', 'KB'),
    besideBare(BURST_LAST, 'ms', { atMost: 1500 }),
    // Not beside the loop: it takes no commit before the one before is written.
    figure(BURST_P99, 'ms', { atMost: 700 }),
    besideBare(BURST_CPU, 'µs'),
    figure(FILTERED_P99, 'ms', { atMost: 50 }),
    figure(IDLE_WS, 'KB', { atMost: 12 }),
    figure(IDLE_SSE, 'KB', { atMost: 16 }),
    figure(STALLED_MB, 'MB', { atMost: 64 }),
    figure(STALLED_P99, 'ms', { atMost: 50 }),
    figure(TRICKLED_MB, 'MB', { atMost: 64 }),
    figure(TRICKLED_P99, 'ms', { atMost: 50 }),
    figure(REPLAY_ONE, '/s', { atLeast: 100_000 }),
    figure(REPLAY_MANY, '/s', { atLeast: 200_000 }),
    figure(REPLAY_P99, 'ms', { atMost: 50 }),
  ]
  return [...figures, ...indexFigures(runs)].map(formatFigure)
}

function take(taken: Taken, name: string, value: number): void {
  taken.set(name, [...(taken.get(name) ?? []), value])
}

/** A server and clients of their own for one part. */
async function withFeed(
  kind: ServerKind,
  part: (server: FeedServer, clients: FeedClients, open: Open) => Promise<void>,
): Promise<void> {
  using server = await startServer(kind)
  using clients = await startClients()
  const protocol = kind === 'bridge' ? 'ws' : kind === 'bare' ? 'plain' : kind
  const open: Open = (wanted, among = clients) =>
    among.open({ protocol, port: server.port, reading: 'all', identifiers: 0, from: 'live', ...wanted })
  await part(server, clients, open)
}
type Open = (wanted: Partial<ClientsWanted> & { count: number }, among?: FeedClients) => Promise<void>

/** Resolves when this many events have arrived. */
async function came(clients: FeedClients, count: number): Promise<void> {
  const deadline = performance.now() + LONGEST_MS
  for (let events = 0; events < count; events = await clients.count()) {
    if (performance.now() > deadline) throw new Error(`${events} of ${count} events came in time`)
    await wait(50)
  }
}

/**
 * Sends one event at a time, each at its scheduled time, without waiting for any server: a server that is late with one
 * gets the next at once. Returns when each was committed, or with `from: 'due'` when it was due. `first` is the position
 * or sequence of the first.
 */
async function trickle(
  server: FeedServer,
  events: number,
  { pauseMs, bytes, first = 0, from = 'commit' }: Trickle,
): Promise<CommitTime[]> {
  const commits: CommitTime[] = []
  const startMs = performance.timeOrigin + performance.now()
  for (let event = 0; event < events; event++) {
    const committedMs = await server.commit(1, bytes)
    const dueMs = startMs + event * pauseMs
    commits.push({ first: first + event, count: 1, atMs: from === 'due' ? dueMs : committedMs })
    await wait(Math.max(0, dueMs + pauseMs - performance.timeOrigin - performance.now()))
  }
  return commits
}
interface Trickle {
  pauseMs: number
  bytes: number
  first?: number
  from?: 'commit' | 'due'
}

const STEADY = '1,000 clients, 50 events/s'
const COMPARED = { clients: 1000, events: 500, pauseMs: 20 }

async function compare(taken: Taken): Promise<void> {
  for (const kind of ['bridge', 'plain', 'socketio'] as const) {
    const name = (what: string): string => `${kind === 'bridge' ? STEADY : kind}: ${what}`
    await withFeed(kind, async (server, clients, open) => {
      await open({ count: 50 })
      const beforeMb = await server.restingMb()
      await open({ count: COMPARED.clients - 50 })
      const afterMb = await server.restingMb()
      take(taken, name('an idle connection'), ((afterMb - beforeMb) * 1024) / (COMPARED.clients - 50))
      await trickle(server, 50, { pauseMs: 20, bytes: USUAL })
      await came(clients, 50 * COMPARED.clients)
      await clients.reset()
      const cpu = server.cpu()
      const commits = await trickle(server, COMPARED.events, { ...COMPARED, bytes: USUAL, from: 'due' })
      await came(clients, COMPARED.events * COMPARED.clients)
      take(taken, name('CPU a delivery'), ((server.cpu() - cpu) * 1e6) / (COMPARED.events * COMPARED.clients))
      take(taken, name('p99 behind its time'), (await clients.report(commits)).p99)
      await clients.reset()
      const startMs = performance.timeOrigin + performance.now()
      await server.commit(COMPARED.events, USUAL)
      await came(clients, COMPARED.events * COMPARED.clients)
      const { lastMs } = await clients.report([])
      const perSecond = (COMPARED.events * COMPARED.clients * 1000) / (lastMs - startMs)
      take(taken, name('deliveries a second, in a burst'), perSecond)
    })
  }
}

const BURST = { clients: 5000, commits: 5, events: 100 }
const BURST_LAST = '500 × 2.4 KB × 5,000: last byte'
const BURST_P99 = '500 × 2.4 KB × 5,000: commit → socket p99'
const BURST_CPU = '500 × 2.4 KB × 5,000: CPU a delivery'

async function burst(taken: Taken): Promise<void> {
  await burstOf(taken, 'bare')
  await burstOf(taken, 'bridge')
}

async function burstOf(taken: Taken, kind: 'bare' | 'bridge'): Promise<void> {
  const name = (what: string): string => (kind === 'bridge' ? what : `bare: ${what}`)
  await withFeed(kind, async (server, clients, open) => {
    await open({ count: BURST.clients })
    const once = async (): Promise<CommitTime[]> => {
      const commits: CommitTime[] = []
      await clients.reset()
      for (let commit = 0; commit < BURST.commits; commit++) {
        const atMs = await server.commit(BURST.events, LARGE)
        commits.push({ first: commit * BURST.events, count: BURST.events, atMs })
      }
      await came(clients, BURST.commits * BURST.events * BURST.clients)
      return commits
    }
    await once()
    await wait(2000)
    const cpu = server.cpu()
    const commits = await once()
    const deliveries = BURST.commits * BURST.events * BURST.clients
    take(taken, name(BURST_CPU), ((server.cpu() - cpu) * 1e6) / deliveries)
    const { lastMs, p99 } = await clients.report(commits)
    take(taken, name(BURST_LAST), lastMs - (commits[0]?.atMs ?? 0))
    if (kind === 'bridge') take(taken, BURST_P99, p99)
  })
}

const FILTERED_P99 = '10,000 filtered clients, 20 events/s: p99'

async function filtered(taken: Taken): Promise<void> {
  await withFeed('bridge', async (server, clients, open) => {
    await open({ count: 10_000, identifiers: 20 })
    await trickle(server, 40, { pauseMs: 50, bytes: USUAL })
    await wait(500)
    await clients.reset()
    const commits = await trickle(server, 400, { pauseMs: 50, bytes: USUAL, first: 41 })
    await wait(1000)
    take(taken, FILTERED_P99, (await clients.report(commits)).p99)
  })
}

const IDLE_WS = 'an idle WebSocket with 20 identifiers, at 15,000'
const IDLE_SSE = 'an idle SSE stream with 20 identifiers, at 5,000'

async function idle(taken: Taken): Promise<void> {
  const kinds = [
    { name: IDLE_WS, protocol: 'ws', count: 15_000 },
    { name: IDLE_SSE, protocol: 'sse', count: 5000 },
  ] as const
  for (const { name, protocol, count } of kinds) {
    await withFeed('bridge', async (server, _clients, open) => {
      await open({ count: 500, protocol, identifiers: 20 })
      const beforeMb = await server.restingMb()
      await open({ count: count - 500, protocol, identifiers: 20 })
      await wait(1000)
      take(taken, name, (((await server.restingMb()) - beforeMb) * 1024) / (count - 500))
    })
  }
}

const STALLED_MB = '1,000 clients that take nothing: growth'
const STALLED_P99 = '1,000 clients that take nothing: p99 of 500 others'
const TRICKLED_MB = '5 % of 1,000 clients at 1 KB/s: growth'
const TRICKLED_P99 = '5 % of 1,000 clients at 1 KB/s: p99 of the others'

async function stalled(taken: Taken): Promise<void> {
  const kinds = [
    { names: [STALLED_MB, STALLED_P99], reading: 'nothing', slow: 1000, quick: 500 },
    { names: [TRICKLED_MB, TRICKLED_P99], reading: 'trickle', slow: 50, quick: 950 },
  ] as const
  for (const { names, reading, slow, quick } of kinds) {
    await withFeed('bridge', async (server, clients, open) => {
      using others = await startClients()
      await open({ count: quick })
      await trickle(server, 100, { pauseMs: 20, bytes: LARGE })
      await came(clients, 100 * quick)
      const beforeMb = await server.restingMb()
      await open({ count: slow, reading }, others)
      // What the kernel takes for them is full first.
      for (let commit = 0; commit < 30; commit++) await server.commit(100, LARGE)
      await came(clients, 3100 * quick)
      await clients.reset()
      const commits = await trickle(server, 250, { pauseMs: 40, bytes: LARGE })
      await came(clients, 250 * quick)
      take(taken, names[1], (await clients.report(commits)).p99)
      take(taken, names[0], (await server.restingMb()) - beforeMb)
    })
  }
}

const HELD = 500_000
/** Of the synthetic events, a tenth are younger. */
const LATE = new Date(Date.UTC(2024, 0, 1) + 0.9 * HELD * 30_000).toISOString()
const REPLAY_ONE = 'replay of 500,000 events to one client'
const REPLAY_MANY = 'replay of 50,000 of them to 100 clients together'
const REPLAY_P99 = 'replay to 100 clients: p99 of 100 live ones'

async function replay(taken: Taken): Promise<void> {
  await withFeed('bridge', async (server, clients, open) => {
    using replayed = await startClients()
    for (let done = 0; done < HELD; done += 1000) await server.commit(1000, 0)
    await server.settled()
    const perSecond = async (count: number, from: ClientsWanted['from']): Promise<number> => {
      await replayed.reset()
      const startMs = performance.now()
      await open({ count, from }, replayed)
      const seconds = (performance.now() - startMs) / 1000
      const events = await replayed.count()
      await replayed.close()
      return events / seconds
    }
    take(taken, REPLAY_ONE, await perSecond(1, 'earliest'))
    await open({ count: 100 })
    await clients.reset()
    let isOver = false
    const many = perSecond(100, { since: LATE }).finally(() => {
      isOver = true
    })
    const commits: CommitTime[] = []
    while (!isOver) {
      commits.push(...(await trickle(server, 1, { pauseMs: 50, bytes: 0, first: commits.length })))
    }
    take(taken, REPLAY_MANY, await many)
    await came(clients, commits.length * 100)
    take(taken, REPLAY_P99, (await clients.report(commits)).p99)
  })
}
