/** Tests the TypeScript client and a bare EventSource in a real browser, beside a bridge that crashes. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, it } from 'vitest'
import { strippedClient } from '../../clients/typescript/strip.ts'
import { systemClock } from '../../src/lifecycle/clock.ts'
import { startSandbox } from '../../src/sandbox/sandbox.ts'
import { ADMIN_TOKEN, bridgeEnv, startBridge, temporaryDirectory } from '../support/bridge-process.ts'
import { openInChromium } from '../support/chromium.ts'
import { bearer, eventually, pullAll } from '../support/http/api-client.ts'
import { hasTool } from '../support/tools.ts'
import { compare, expectComplete } from '../support/worlds/completeness.ts'

/** Follows the stream with a token or, without one, with tickets; `ids` and `types` are those received, in order. */
const PAGE = `<!doctype html><meta charset="utf-8"><title>reader</title><script type="module">
import { connect } from './stream.js'
window.follow = (url, token) => {
  const ticket = async () => {
    const response = await fetch('/ticket', { method: 'POST' })
    if (!response.ok) throw new Error(String(response.status))
    return response.text()
  }
  const reader = { ids: [], types: [], failure: null, stream: null }
  reader.stream = connect({ url, from: 'earliest', ...(token ? { token } : { ticket }) })
  const read = async () => {
    for await (const message of reader.stream) {
      reader.types.push(message.type)
      if (message.event) reader.ids.push(message.event.id)
    }
  }
  read().catch((error) => { reader.failure = String(error) })
  return reader
}
// The browser's own EventSource, without any code of ours: one ticket for all its connections.
window.listen = async (url) => {
  const ticket = await (await fetch('/ticket', { method: 'POST' })).text()
  const source = new EventSource(url + '/v1/events?since=1970&ticket=' + ticket)
  const reader = { ids: [], opened: 0, source }
  source.addEventListener('open', () => { reader.opened += 1 })
  for (const name of ['disclosure', 'gap'])
    source.addEventListener(name, ({ data }) => reader.ids.push(JSON.parse(data).id))
  return reader
}
</script>`

/** A site with the page, the client, and a server side that has the token and gets tickets from the bridge. */
async function startSite(bridge: () => string) {
  const files = strippedClient()
  const server = createServer((request, response) => {
    const name = request.url?.slice(1) ?? ''
    const script = files.get(name)
    if (name === 'ticket') {
      fetch(`${bridge()}/v1/tickets`, { method: 'POST', headers: bearer })
        .then((answer) => answer.json())
        .then((answer) => response.end((answer as { ticket: string }).ticket))
        .catch(() => response.writeHead(502).end())
    } else if (script === undefined) response.setHeader('content-type', 'text/html').end(PAGE)
    else response.setHeader('content-type', 'text/javascript').end(script)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

interface Reader {
  ids: string[]
  types: string[]
  failure: string | null
  state: string
}

it.skipIf(!hasTool('chromium', 'chromium'))(
  'The TypeScript client in headless Chromium survives a server restart without a gap',
  async () => {
    using directory = temporaryDirectory()
    const options = { scenario: 'morning-short', plan: 'advanced', weeklyQuota: 1_000_000, seed: 7 } as const
    const sandbox = await startSandbox(options, { clock: systemClock })
    let url = ''
    await using site = await startSite(() => url)
    const env = bridgeEnv(sandbox, directory.path, {
      BRIDGE_UPSTREAM_PLAN: 'advanced',
      BRIDGE_CORS_ORIGINS: site.origin,
    })
    try {
      let bridge = await startBridge(env)
      url = bridge.ready.http
      const samePort = { ...env, BRIDGE_HTTP_PORT: new URL(url).port }
      await using page = await openInChromium(site.origin)
      await page.evaluate(`(window.readers = [follow('${url}', '${ADMIN_TOKEN}'), follow('${url}')]).length`)
      await page.evaluate(`listen('${url}').then((bare) => { window.bare = bare })`)
      const count = () =>
        page.evaluate<number>('Math.min(bare.ids.length, ...readers.map(({ ids }) => ids.length))')
      for (const seen of [50, 400]) {
        await eventually(count, (now) => now >= seen, 60_000)
        await bridge.stop('SIGKILL')
        bridge = await startBridge(samePort)
      }
      const pulled = await eventually(
        () => pullAll(url),
        (events) => sandbox.finished() && compare(sandbox.truth().items, events).missing.length === 0,
        90_000,
      )
      await eventually(count, (now) => now >= pulled.length)
      const readers = await page.evaluate<Reader[]>(
        'readers.map(({ ids, types, failure, stream }) => ({ ids, types, failure, state: stream.state }))',
      )
      expectComplete(sandbox.truth().items, pulled)
      const wanted = pulled.map(({ id }) => id)
      for (const { ids, types, failure, state } of readers) {
        expect(ids).toEqual(wanted)
        expect({ failure, state }).toEqual({ failure: null, state: 'live' })
        // Both kills interrupted the stream, and the client reported them.
        expect(types.filter((type) => type === 'connected').length).toBeGreaterThanOrEqual(3)
        expect(types.filter((type) => type === 'disconnected').length).toBeGreaterThanOrEqual(2)
      }
      // So does an EventSource with one ticket.
      const bare = await page.evaluate<{ ids: string[]; opened: number; state: number }>(
        '({ ids: bare.ids, opened: bare.opened, state: bare.source.readyState })',
      )
      // At least once: the last event before a kill may come again.
      expect([...new Set(bare.ids)]).toEqual(wanted)
      expect(bare.opened).toBeGreaterThanOrEqual(3)
      expect(bare.state).toBe(1)
      await bridge.stop()
    } finally {
      await sandbox.close()
    }
  },
  240_000,
)
