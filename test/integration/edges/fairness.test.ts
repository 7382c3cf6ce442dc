/** Tests on a whole bridge that one tenant cannot take search time, sockets or open files from another. */

import { once } from 'node:events'
import { readdirSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { fillStore } from '../../../bench/archive.ts'
import type { BridgeProcess } from '../../support/bridge-process.ts'
import { bearer, eventually } from '../../support/http/api-client.ts'
import { goal } from '../../support/quiet-machine.ts'
import { startWithoutUpstream } from '../../support/webhooks/bridge-over-events.ts'
import { type Attempt, wholeList } from '../../support/webhooks/webhook-lists.ts'
import { startReceiver } from '../../support/webhooks/webhook-receiver.ts'

/** How long deliveries are counted without searches and beside them, in turn, and how often. */
const PHASE_MS = 2500
const PHASES = 5
/** Until all searches wait for their turn. */
const SETTLE_MS = 500
const SCOPES = ['events:read', 'webhooks:read', 'webhooks:write']

const pause = (forMs: number) => new Promise<void>((resolve) => setTimeout(resolve, forMs))

/** The mean of the middle of the values, without a fifth of them at either end. */
function middle(values: readonly number[]): number {
  const cut = Math.floor(values.length / 5)
  const kept = [...values].sort((one, other) => one - other).slice(cut, values.length - cut)
  return kept.reduce((sum, value) => sum + value, 0) / kept.length
}

/** The directory of a store of so many events. */
function storeOf(events: number): string {
  const { folder, archive } = fillStore(events)
  archive.close()
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** A bridge without a poller over that store, of so many events; `inside` as for `startBridge`. */
async function bridgeOver(store: number | string, inside: readonly string[] = []): Promise<BridgeProcess> {
  const bridge = await startWithoutUpstream(typeof store === 'string' ? store : storeOf(store), {}, inside)
  onTestFinished(async () => void (await bridge.stop('SIGKILL')))
  return bridge
}

async function post<T>(bridge: BridgeProcess, path: string, body: object, headers = bearer): Promise<T> {
  const response = await fetch(`${bridge.ready.http}${path}`, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  const text = await response.text()
  if (!response.ok) throw new Error(`${path}: ${response.status} ${text}`)
  return JSON.parse(text) as T
}

/** The headers of a new token of that tenant. */
async function tenant(bridge: BridgeProcess, name: string): Promise<typeof bearer> {
  const { token } = await post<{ token: string }>(bridge, '/v1/tokens', { tenant: name, scopes: SCOPES })
  return { authorization: `Bearer ${token}` }
}

// Guards against worse only: code without the present debt of a caller (test/archive/reading/search-slices.test.ts) met it too.
test('200 searches of one token leave the webhook catch-up and the pulls of another tenant their speed', async () => {
  const bridge = await bridgeOver(80_000)
  const good = await tenant(bridge, 'good')
  const evil = await tenant(bridge, 'evil')
  await using receiver = await startReceiver()
  await post(bridge, '/v1/webhooks', { url: receiver.url, since: '2000-01-01T00:00:00Z' }, good)
  const delivered = async (): Promise<number> => {
    const before = receiver.received.length
    await pause(PHASE_MS)
    return receiver.received.length - before
  }
  const search = async (signal: AbortSignal): Promise<void> => {
    const url = `${bridge.ready.http}/v1/disclosures?q=zqzq&limit=1`
    while (!signal.aborted) await (await fetch(url, { headers: evil, signal })).text()
  }
  await eventually(
    () => receiver.received.length,
    (count) => count >= 100,
  )
  const shares: number[] = []
  const pulls: number[] = []
  // In turn, because a machine that runs other tests is not equally fast all the time.
  for (let phase = 0; phase < PHASES; phase++) {
    const alone = await delivered()
    const stop = new AbortController()
    const searching = Promise.allSettled(Array.from({ length: 200 }, () => search(stop.signal)))
    await pause(SETTLE_MS)
    shares.push((await delivered()) / alone)
    for (let count = 0; count < 5; count++) {
      const startMs = performance.now()
      await (await fetch(`${bridge.ready.http}/v1/disclosures?limit=10`, { headers: good })).text()
      pulls.push(performance.now() - startMs)
    }
    stop.abort()
    await searching
  }
  const figures = { share: middle(shares), pullMs: middle(pulls) }
  process.stderr.write(`${JSON.stringify({ ...figures, shares, worstPullMs: Math.max(...pulls) })}\n`)
  // The 200 clients and other tests share the machine, whose 0.77 was seen: the unit test of the slices guards against what
  // had been wrong.
  expect(figures.share).toBeGreaterThanOrEqual(goal(0.8, 0.6))
  expect(figures.pullMs).toBeLessThanOrEqual(100)
})

test('receivers of one tenant that hang take neither the places nor the open files of another', async () => {
  const bridge = await bridgeOver(2000, ['bash', '-c', 'ulimit -n 600 && exec "$@"', 'bash'])
  const evil = await tenant(bridge, 'evil')
  const good = await tenant(bridge, 'good')
  await using hanging = await startReceiver(() => undefined)
  const since = '2000-01-01T00:00:00Z'
  const many = Array.from({ length: 40 }, () =>
    post(bridge, '/v1/webhooks', { url: hanging.url, since, maxConcurrency: 64 }, evil),
  )
  await Promise.all(many)
  await eventually(
    async () => hanging.received.length,
    (count) => count >= 60,
  )
  await using healthy = await startReceiver()
  const { id } = await post<{ id: string }>(bridge, '/v1/webhooks', { url: healthy.url, since }, good)
  await eventually(
    async () => healthy.received.length,
    (count) => count >= 500,
  )
  const attempts = await wholeList<Attempt>(bridge.ready.http, `${id}/attempts`)
  expect(attempts.filter(({ outcome }) => outcome !== 'ok')).toEqual([])
})

test('1,024 open files are enough for idle connections, deliveries that hang, and the work beside them', async () => {
  const bridge = await bridgeOver(2000, ['bash', '-c', 'ulimit -n 1024 && exec "$@"', 'bash'])
  await using hanging = await startReceiver(() => undefined)
  const since = '2000-01-01T00:00:00Z'
  const tenants = await Promise.all(['a', 'b', 'c', 'd'].map((name) => tenant(bridge, name)))
  const many = tenants.flatMap((headers) =>
    Array.from({ length: 4 }, () =>
      post(bridge, '/v1/webhooks', { url: hanging.url, since, maxConcurrency: 64 }, headers),
    ),
  )
  await Promise.all(many)
  const { hostname, port } = new URL(bridge.ready.http)
  const idle = Array.from({ length: 1100 }, () => connect(Number(port), hostname).on('error', () => {}))
  onTestFinished(() => {
    for (const socket of idle) socket.destroy()
  })
  await eventually(
    async () => hanging.received.length,
    (count) => count >= 400,
  )
  await eventually(
    async () => await (await fetch(`${bridge.ready.ops}/metrics`)).text(),
    (metrics) =>
      /^bridge_http_refused_total\{cause="(connections|address_connections)"\} [5-9]\d\d/m.test(metrics),
  )
  const openFiles = readdirSync(`/proc/${bridge.pid}/fd`).length
  expect(openFiles).toBeGreaterThan(700)
  expect(openFiles).toBeLessThan(850)
  expect((await fetch(`${bridge.ready.ops}/healthz`)).status).toBe(200)
  for (const socket of idle) socket.destroy()
  await eventually(
    async () => (await fetch(`${bridge.ready.http}/v1/disclosures?limit=10`, { headers: bearer })).status,
    (status) => status === 200,
  )
})

test('a thousand receivers of one event leave 1,024 open files enough for the work beside them', async () => {
  // Each address of this machine is a receiver of its own, whose connection idles for some seconds.
  let received = 0
  const receivers = createServer((request, response) => {
    request.resume().on('end', () => response.writeHead(204).end())
    received += 1
  })
  receivers.listen(0, '0.0.0.0', 1024)
  await once(receivers, 'listening')
  onTestFinished(() => {
    receivers.close()
    receivers.closeAllConnections()
  })
  const { port } = receivers.address() as AddressInfo
  const urls = Array.from({ length: 1000 }, (_, at) => `http://127.0.${1 + (at >> 8)}.${at & 255}:${port}/`)
  const folder = storeOf(100)
  const silent = await startWithoutUpstream(folder, { BRIDGE_ROLES: 'api' })
  onTestFinished(async () => void (await silent.stop('SIGKILL')))
  const newest = await fetch(`${silent.ready.http}/v1/disclosures?tail=1`, { headers: bearer })
  const { data } = (await newest.json()) as { data: { time: string }[] }
  await Promise.all(urls.map((url) => post(silent, '/v1/webhooks', { url, since: data[0]?.time })))
  await silent.stop()
  const bridge = await bridgeOver(folder, ['bash', '-c', 'ulimit -n 1024 && exec "$@"', 'bash'])
  let mostFiles = 0
  await eventually(
    async () => {
      mostFiles = Math.max(mostFiles, readdirSync(`/proc/${bridge.pid}/fd`).length)
      return received
    },
    (count) => count >= urls.length,
  )
  expect(mostFiles).toBeGreaterThan(400)
  expect(mostFiles).toBeLessThan(700)
  expect((await fetch(`${bridge.ready.ops}/healthz`)).status).toBe(200)
})
