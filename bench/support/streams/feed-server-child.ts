/**
 * Serves streams for `npm run bench -- feed` in a process of its own: `bridge` as a node of the product over the
 * embedded log, `plain` as a broadcast over `ws` written in a day, `socketio` the same over Socket.IO, `bare` as a
 * loop that writes the same bytes to every socket and does nothing else. The argument chooses the server. Commands
 * arrive over the parent's channel, one reply each.
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import { Server as SocketIoServer } from 'socket.io'
import { WebSocketServer } from 'ws'
import { createReader } from '../../../src/archive/reading/reader.ts'
import { RecentEvents } from '../../../src/archive/reading/recent-events.ts'
import { Replicator } from '../../../src/archive/replica/replicator.ts'
import { createApp } from '../../../src/http/app.ts'
import { adminAuthenticate } from '../../../src/http/auth.ts'
import { createReaderLimits } from '../../../src/http/bounds/reader-limits.ts'
import { LARGE_BATCH_BYTES } from '../../../src/http/bounds/send-buffers.ts'
import { listen } from '../../../src/http/listener.ts'
import { systemChance, systemClock } from '../../../src/lifecycle/clock.ts'
import { openSqliteLog } from '../../../src/log-embedded/log.ts'
import { createLogger } from '../../../src/obs/logger.ts'
import { createMetrics } from '../../../src/obs/metrics.ts'
import { createTickets } from '../../../src/registry/tickets.ts'
import { createStreams } from '../../../src/streams/streams.ts'
import { textFrame } from '../../../src/streams/transport/ws-frames.ts'
import { temporaryDirectory } from '../../../test/support/bridge-process.ts'
import { UNKNOWN_UPSTREAM } from '../../../test/support/unknown-upstream.ts'
import { syntheticEvents } from '../synthetic-events.ts'
import { type ServerAnswer, type ServerWord, TOKEN } from './feed-words.ts'

/** The server behind the commands. */
interface StreamServer {
  port: number
  /** Shows them to every client that wants them; resolves with when they were committed, ms since 1970. */
  send(count: number): Promise<number>
  /** Resolves when readers see all of them. */
  settled(): Promise<void>
}

const atOnce = async (): Promise<void> => {}

const MAX_CLIENTS = 18_000
/** Of an event as it is sent, beside the padding. */
const USUAL_BYTES = 1450

let padding = ''
const next = syntheticEvents(1)
/** The next events of the feed, padded to the requested size. */
function drafts(count: number) {
  return next(count).map(({ sequence: _, epoch: __, ...event }) => ({
    ...event,
    data: padding === '' ? event.data : JSON.stringify({ ...JSON.parse(event.data), padding }),
  }))
}

function now(): number {
  return performance.timeOrigin + performance.now()
}

async function bridge(): Promise<StreamServer> {
  const directory = temporaryDirectory()
  process.on('exit', () => directory[Symbol.dispose]())
  const { log, archive } = openSqliteLog({
    dataDir: directory.path,
    nativeKind: 'Native',
    clock: systemClock,
  })
  const recentEvents = new RecentEvents(archive.latest)
  const logger = createLogger({ level: 'error', secrets: [] })
  const replicator = new Replicator({
    log,
    archive,
    recentEvents,
    clock: systemClock,
    logger,
    shared: true,
    silentSinceMs: () => null,
  })
  const { signal } = new AbortController()
  void replicator.run(signal)
  const authenticate = adminAuthenticate(TOKEN)
  const feed = createStreams({
    reader: createReader(archive, recentEvents, systemClock, replicator.replica),
    clock: systemClock,
    chance: systemChance,
    metrics: createMetrics({ version: 'bench' }),
    logger,
    credentials: {
      authenticate,
      findCaller: () => 'unknown',
      tickets: createTickets({ keys: { key: TOKEN, oldKey: null }, adminToken: null, clock: systemClock }),
    },
    corsOrigins: [],
    servesPages: false,
    upstream: () => UNKNOWN_UPSTREAM,
    // As it is behind a proxy: the clients of the bench have one address.
    limits: createReaderLimits({ maxClients: MAX_CLIENTS, clientOf: () => null }),
    tokens: { get: () => null },
    node: { id: 'bench', key: TOKEN },
  })
  void feed.run(signal)
  const app = createApp({ routes: feed.routes, authenticate, corsOrigins: [], logger })
  const { port } = await listen(app, {
    host: '127.0.0.1',
    port: 0,
    setting: 'none',
    clock: systemClock,
    logger,
    upgrade: feed.upgrade,
  })
  const writer = await log.claim(await log.campaign(signal), signal)
  return {
    port,
    async send(count) {
      await writer.commit({ events: drafts(count) })
      return now()
    },
    settled: () => recentEvents.waitBeyond(archive.latest - 1, signal),
  }
}

async function plain(): Promise<StreamServer> {
  const server = createServer()
  const webSockets = new WebSocketServer({ server })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as AddressInfo).port,
    async send(count) {
      const events = drafts(count)
      const atMs = now()
      for (const event of events) {
        const text = JSON.stringify({ type: 'disclosure', event })
        for (const client of webSockets.clients) client.send(text)
      }
      return atMs
    },
    settled: atOnce,
  }
}

async function socketIo(): Promise<StreamServer> {
  const server = createServer()
  const io = new SocketIoServer(server, { transports: ['websocket'] })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as AddressInfo).port,
    async send(count) {
      const events = drafts(count)
      const atMs = now()
      for (const event of events) io.emit('disclosure', event)
      return atMs
    },
    settled: atOnce,
  }
}

/** What the kernel takes for the bytes of a burst, in the same pieces. */
async function bare(): Promise<StreamServer> {
  const server = createServer()
  const webSockets = new WebSocketServer({ noServer: true })
  const sockets: Duplex[] = []
  server.on('upgrade', (request, socket, head) =>
    webSockets.handleUpgrade(request, socket, head, () => sockets.push(socket)),
  )
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as AddressInfo).port,
    async send(count) {
      const frames = drafts(count).flatMap((event) =>
        textFrame(Buffer.from(JSON.stringify({ type: 'disclosure', event }))),
      )
      const bytes = Buffer.concat(frames)
      const atMs = now()
      for (let at = 0; at < bytes.length; at += LARGE_BATCH_BYTES) {
        const piece = bytes.subarray(at, at + LARGE_BATCH_BYTES)
        for (const socket of sockets) socket.write(piece)
      }
      return atMs
    },
    settled: atOnce,
  }
}

const servers = { bridge, plain, socketio: socketIo, bare }
const server = await servers[process.argv[2] as keyof typeof servers]()

async function obey(word: ServerWord): Promise<ServerAnswer> {
  if (word.do === 'settle') {
    await server.settled()
    return { port: server.port, atMs: 0 }
  }
  if (word.do === 'collect') {
    // As after a long rest: memory that is not used goes back to the system.
    const last = { type: 'major', execution: 'sync', flavor: 'last-resort' } as const
    for (let time = 0; time < 3; time++) globalThis.gc?.(last)
    return { port: server.port, atMs: 0 }
  }
  padding = 'x'.repeat(Math.max(0, word.bytes - USUAL_BYTES))
  return { port: server.port, atMs: await server.send(word.count) }
}

process.on('message', async (word: ServerWord) => process.send?.(await obey(word)))
process.send?.({ port: server.port, atMs: 0 } satisfies ServerAnswer)
process.on('SIGTERM', () => process.exit(0))
