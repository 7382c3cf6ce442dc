import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { startApp } from '../../src/app/app.ts'
import { systemChance, systemClock } from '../../src/lifecycle/clock.ts'
import { loadSettings } from '../../src/settings/settings.ts'
import { temporaryDirectory } from '../support/bridge-process.ts'

const parts = { clock: systemClock, chance: systemChance }

/** A node without a poller, on the embedded log. */
function settingsOf(dataDir: string, ports: { http: number; ops: number }) {
  const env = {
    BRIDGE_ROLES: 'feed,api,webhooks',
    BRIDGE_ADMIN_TOKEN: 'an admin token of this test',
    BRIDGE_SECRET_KEY: 'a secret key of this test, long enough',
    BRIDGE_DATA_DIR: dataDir,
    BRIDGE_HTTP_PORT: String(ports.http),
    BRIDGE_OPS_PORT: String(ports.ops),
    BRIDGE_LOG_LEVEL: 'silent',
  }
  return loadSettings(env, () => '')
}

test.each(['http', 'ops'])(
  'a start whose %s port is taken closes everything it has opened',
  async (taken) => {
    using directory = temporaryDirectory()
    const other = createServer()
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
    const { port } = other.address() as AddressInfo
    const ports = { http: 0, ops: 0 }
    const failing = startApp(settingsOf(directory.path, { ...ports, [taken]: port }), parts)
    await expect(failing).rejects.toThrow(String(port))
    other.close()
    const app = await startApp(settingsOf(directory.path, ports), parts)
    expect(app.ready).toMatchObject({ ready: true, log: 'embedded', roles: ['webhooks', 'feed', 'api'] })
    await app.runUntil(AbortSignal.abort())
  },
)

test('a node that has heard from no leader says null, and exposes no figure of it', async () => {
  using directory = temporaryDirectory()
  const app = await startApp(settingsOf(directory.path, { http: 0, ops: 0 }), parts)
  const stop = new AbortController()
  const run = app.runUntil(stop.signal)
  expect(app.status()).toMatchObject({
    leader: { id: null, since: null, self: false },
    upstream: { state: null, lastGoodPoll: null, nextPoll: null },
    quota: { limit: null, used: null, remaining: null, reset: null, forecast: null, drift: null },
    completeness: null,
    gaps: null,
    asOf: null,
  })
  const scrape = await (await fetch(`${app.ready.ops}/metrics`)).text()
  expect(scrape).toMatch(/^bridge_leader 0$/m)
  expect(scrape).not.toMatch(/^bridge_(quota_|gaps_open|poll_interval|poll_last|leader_report)/m)
  stop.abort()
  await run
})
