import { X509Certificate } from 'node:crypto'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { startApp } from '../../src/app/app.ts'
import { systemChance, systemClock } from '../../src/lifecycle/clock.ts'
import { loadSettings } from '../../src/settings/settings.ts'
import { temporaryDirectory } from '../support/bridge-process.ts'
import { eventually } from '../support/http/api-client.ts'
import { createAuthority } from '../support/kafka/certificates.ts'

const parts = { clock: systemClock, chance: systemChance }

/** A node without a poller, on the embedded log. */
function settingsOf(
  dataDir: string,
  ports: { http: number; ops: number },
  other: Record<string, string> = {},
) {
  const env = {
    BRIDGE_ROLES: 'feed,api,webhooks',
    BRIDGE_ADMIN_TOKEN: 'an admin token of this test',
    BRIDGE_SECRET_KEY: 'a secret key of this test, long enough',
    BRIDGE_DATA_DIR: dataDir,
    BRIDGE_HTTP_PORT: String(ports.http),
    BRIDGE_OPS_PORT: String(ports.ops),
    BRIDGE_LOG_LEVEL: 'silent',
    ...other,
  }
  return loadSettings(env, (path) => readFileSync(path, 'utf8'))
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

test('a node whose Kafka has not answered yet knows no figure of the log; an empty log that it holds has truthful ones', async () => {
  const figures = async (other: Record<string, string>) => {
    using directory = temporaryDirectory()
    const app = await startApp(settingsOf(directory.path, { http: 0, ops: 0 }, other), parts)
    const stop = new AbortController()
    const run = app.runUntil(stop.signal)
    const { log, copy } = app.status()
    const scrape = await (await fetch(`${app.ready.ops}/metrics`)).text()
    stop.abort()
    await run
    return { log, copy, series: scrape.match(/^bridge_(log_sequence|follower_lag_\w+) .*$/gm) }
  }
  expect(await figures({ BRIDGE_KAFKA_BROKERS: '127.0.0.1:9' })).toEqual({
    log: { kind: 'kafka', available: false, epoch: null, oldest: null, latest: null },
    copy: { sequence: 0, lagEvents: null, lagSeconds: null, filled: 0 },
    series: null,
  })
  expect(await figures({})).toEqual({
    log: { kind: 'embedded', available: true, epoch: null, oldest: 1, latest: 0 },
    copy: { sequence: 0, lagEvents: 0, lagSeconds: 0, filled: 1 },
    series: ['bridge_log_sequence 0', 'bridge_follower_lag_events 0', 'bridge_follower_lag_seconds 0'],
  })
})

test('a scrape shows readiness, files, the event loop, and each route by the status of its responses', async () => {
  using directory = temporaryDirectory()
  const app = await startApp(settingsOf(directory.path, { http: 0, ops: 0 }), parts)
  const stop = new AbortController()
  const run = app.runUntil(stop.signal)
  const scrape = async () => await (await fetch(`${app.ready.ops}/metrics`)).text()
  const scraped = (wanted: RegExp) => eventually(scrape, (text) => wanted.test(text))
  const begun = await scraped(/^bridge_ready\{check="tokens"\} 1$/m)
  expect(begun).toMatch(/^bridge_ready\{check="webhooks"\} 1$/m)
  expect(begun).toMatch(/^bridge_data_free_bytes \d{6,}/m)
  expect(begun).toMatch(/^bridge_store_bytes\{file="bridge.db"\} \d{4,}$/m)
  expect(begun).not.toContain('file="copy.db"')
  expect(begun).toContain('bridge_http_requests_total{route="GET /v1/status",code="4xx"} 0')
  await fetch(`${app.ready.http}/v1/status`)
  const headers = { authorization: 'Bearer an admin token of this test' }
  const status = await fetch(`${app.ready.http}/v1/status`, { headers })
  await status.arrayBuffer()
  const page = await fetch(`${app.ready.http}/v1/webhooks/ep_none`, { headers })
  await page.arrayBuffer()
  const counted = await scraped(/^bridge_http_requests_total\{route="GET \/v1\/status",code="2xx"\} 1$/m)
  expect(counted).toContain('bridge_http_requests_total{route="GET /v1/status",code="4xx"} 1')
  expect(counted).toContain('bridge_http_requests_total{route="GET /v1/webhooks/{id}",code="4xx"} 1')
  expect(counted).toMatch(
    /^bridge_http_unauthorised_total\{code="401"\} 1\nbridge_http_unauthorised_total\{code="403"\} 0$/m,
  )
  expect(counted).toContain('bridge_http_request_duration_seconds_count{route="GET /v1/status"} 2')
  await scraped(/^bridge_event_loop_delay_seconds_count [1-9]/m)
  expect(await scrape()).not.toMatch(/^bridge_event_loop_busy_seconds_total 0$/m)
  stop.abort()
  await run
})

test('a scrape says when the certificate of the listener expires', async () => {
  using directory = temporaryDirectory()
  const { cert, certFile, keyFile } = await (await createAuthority(directory.path)).issue('listener')
  const files = { BRIDGE_HTTP_TLS_CERT_FILE: certFile, BRIDGE_HTTP_TLS_KEY_FILE: keyFile }
  const app = await startApp(settingsOf(directory.path, { http: 0, ops: 0 }, files), parts)
  const scrape = async () => (await fetch(`${app.ready.ops}/metrics`)).text()
  const expires = /^bridge_tls_certificate_expiry_timestamp_seconds\{certificate="http"\} (.+)$/m
  const shown = async (): Promise<number> => Number(expires.exec(await scrape())?.[1])
  const usedMs = Date.parse(new X509Certificate(cert).validTo)
  expect(await shown()).toBe(usedMs / 1000)
  expect(await scrape()).not.toMatch(/certificate="kafka/)
  // What cannot be used, or is gone, leaves the certificate that clients get.
  for (const change of [() => writeFileSync(certFile, 'no certificate'), () => rmSync(certFile)]) {
    change()
    expect(await shown()).toBe(usedMs / 1000)
  }
  await app.runUntil(AbortSignal.abort())
})
