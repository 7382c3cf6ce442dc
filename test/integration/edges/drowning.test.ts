/** Clients that try to drown a bridge, each a fresh process of its own: memory and the answers of its ops listener are measured. */
import { readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { systemClock } from '../../../src/lifecycle/clock.ts'
import { openSqliteLog } from '../../../src/log-embedded/log.ts'
import { claimed, sampleEvents } from '../../log/samples.ts'
import {
  type BridgeProcess,
  bridgeEnv,
  startBridge,
  temporaryDirectory,
} from '../../support/bridge-process.ts'
import { bearer, eventually, getJson } from '../../support/http/api-client.ts'
import { percentile, probeHealth } from '../../support/http/health-probe.ts'
import { goal } from '../../support/quiet-machine.ts'
import { FIN, frame, OPCODES } from '../../support/streams/raw-stream.ts'

const MIB = 1024 * 1024
/** Without the limits it is a gigabyte. */
const MOST_GROWTH_MIB = goal(64, 96)
const MOST_HEALTH_MS = goal(100, 250)
/** Twelve megabytes for a reader from the earliest on: more than the kernel takes for one that reads nothing. */
const EVENTS = 12_000

const directory = temporaryDirectory()
let bridge: BridgeProcess
let token: string

beforeAll(fill)

// A process whose heap has never been large: there a flood leaves most.
beforeEach(async () => {
  const upstream = { url: 'http://127.0.0.1:9/v2', key: 'none' }
  bridge = await startBridge(bridgeEnv(upstream, directory.path, { BRIDGE_ROLES: 'api,feed' }))
  token = await makeToken()
  // What the start itself still needs must not count.
  await sleep(2000)
}, 120_000)

afterEach(async () => {
  endAll()
  await bridge.stop()
})

afterAll(() => directory[Symbol.dispose]())

/** Events of 1.2 KB, as usual ones are. */
async function fill(): Promise<void> {
  const { log } = openSqliteLog({ dataDir: directory.path, nativeKind: 'Native', clock: systemClock })
  const writer = await claimed(log)
  for (let first = 1; first <= EVENTS; first += 1000) {
    const events = sampleEvents(first, first + 999).map((event) => ({
      ...event,
      data: event.data.replace('Item', `Item ${'x'.repeat(500)}`),
    }))
    await writer.commit({ events })
  }
  await log.close()
}

async function makeToken(): Promise<string> {
  const response = await fetch(`${bridge.ready.http}/v1/tokens`, {
    method: 'POST',
    headers: { ...bearer, 'content-type': 'application/json' },
    body: JSON.stringify({ tenant: 'reader', scopes: ['events:read'] }),
  })
  return ((await response.json()) as { token: string }).token
}

function residentBytes(): number {
  const status = readFileSync(`/proc/${bridge.pid}/status`, 'utf8')
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) * 1024
}

/** Runs the attack. Returns how much memory grew at most, MiB, and the time that 99 of 100 health requests took. */
async function during(attack: () => Promise<void>): Promise<{ growthMib: number; healthMs: number }> {
  const before = residentBytes()
  let most = before
  let isOver = false
  const health = probeHealth(`${bridge.ready.ops}/healthz`)
  const watching = (async () => {
    while (!isOver) {
      most = Math.max(most, residentBytes())
      await sleep(20)
    }
  })()
  await attack()
  isOver = true
  await watching
  const times = await health.end()
  expect(times.length).toBeGreaterThan(30)
  return { growthMib: Math.round((most - before) / MIB), healthMs: Math.round(percentile(times, 99)) }
}

const request = (path: string): string =>
  `GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n\r\n`

const sockets = new Set<Socket>()
const endAll = (): void => {
  for (const socket of sockets) socket.destroy()
  sockets.clear()
}

/** A connection on which these bytes are sent, and nothing is read. */
async function unread(bytes: string): Promise<Socket> {
  const { hostname, port } = new URL(bridge.ready.http)
  const socket = connect(Number(port), hostname)
  socket.on('error', () => {})
  socket.pause()
  sockets.add(socket)
  await new Promise<void>((resolve) => {
    socket.once('connect', () => {
      socket.write(bytes)
      resolve()
    })
    socket.once('close', () => resolve())
  })
  return socket
}

async function refused(cause: string): Promise<number> {
  const text = await (await fetch(`${bridge.ready.ops}/metrics`)).text()
  return Number(new RegExp(`^bridge_http_refused_total\\{cause="${cause}"\\} (\\d+)$`, 'm').exec(text)?.[1])
}

function expectUnharmed({ growthMib, healthMs }: { growthMib: number; healthMs: number }): void {
  process.stderr.write(`${JSON.stringify({ growthMib, healthMs })}\n`)
  expect(growthMib).toBeLessThanOrEqual(MOST_GROWTH_MIB)
  expect(healthMs).toBeLessThanOrEqual(MOST_HEALTH_MS)
}

describe('memory and health hold against', () => {
  test.each([
    ['pages of a megabyte', '/v1/disclosures?limit=1000'],
    ['long polls', '/v1/disclosures?wait=20&q=zzzzz'],
    ['the API document', '/openapi.json'],
  ])('60,000 pipelined requests for %s', async (_what, path) => {
    const measured = await during(async () => {
      await Promise.all(Array.from({ length: 60 }, () => unread(request(path).repeat(1000))))
      await sleep(5000)
    })
    expectUnharmed(measured)
    expect(await refused('pipelined')).toBeGreaterThanOrEqual(60)
  })

  test('200 connections that read nothing of a page of a megabyte, with a second request behind it', async () => {
    const page = request('/v1/disclosures?limit=1000')
    const measured = await during(async () => {
      await Promise.all(Array.from({ length: 200 }, () => unread(page.repeat(8))))
      await sleep(5000)
    })
    expectUnharmed(measured)
  })

  test('10,000 long polls of one token, of which a thousand have a place', async () => {
    const { cursor } = await getJson<{ cursor: string }>(`${bridge.ready.http}/v1/disclosures?q=zzzzz`)
    const poll = request(`/v1/disclosures?wait=30&after=${cursor}`)
    const measured = await during(async () => {
      for (let group = 0; group < 50; group += 1) {
        await Promise.all(Array.from({ length: 200 }, () => unread(poll)))
      }
      await sleep(5000)
    })
    expectUnharmed(measured)
    expect(await refused('token_pulls')).toBeGreaterThan(5000)
  })
})

test('readers that take nothing are cut 30 s after the last byte: server-sent events, WebSocket and pull', async () => {
  const upgrade =
    'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n'
  const subscribe = frame(FIN | OPCODES.text, '{"action":"subscribe","from":"earliest"}')
  const readers = {
    sse: [request('/v1/events?since=2000')],
    ws: [request('/v1/stream').slice(0, -2) + upgrade, subscribe],
    pull: [request('/v1/disclosures?limit=1000').repeat(9)],
  }
  const cutAfter = async (pieces: (string | Buffer)[]): Promise<number> => {
    const socket = await unread('')
    const begun = performance.now()
    for (const piece of pieces) socket.write(piece)
    await eventually(
      () => openConnections(socket.localPort ?? 0),
      (open) => open === 0,
      80_000,
    )
    return (performance.now() - begun) / 1000
  }
  const [sse, ws, pull] = await Promise.all([readers.sse, readers.ws, readers.pull].map(cutAfter))
  process.stderr.write(`${JSON.stringify({ sse, ws, pull })}\n`)
  for (const seconds of [sse, ws, pull]) {
    expect(seconds).toBeGreaterThan(29)
    expect(seconds).toBeLessThan(goal(32, 33))
  }
})

/** How many connections of the bridge go to that port of this end, by the kernel's table. */
function openConnections(port: number): number {
  const remote = `0100007F:${port.toString(16).toUpperCase().padStart(4, '0')}`
  const established = '01'
  return readFileSync(`/proc/${bridge.pid}/net/tcp`, 'utf8')
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .filter(([, , to, state]) => to === remote && state === established).length
}
