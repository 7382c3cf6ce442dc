import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { ADMIN_TOKEN, startBridge, temporaryDirectory } from '../support/bridge-process.ts'
import { eventually, getJson } from '../support/http/api-client.ts'

/** Nothing listens there. */
const NOWHERE = '127.0.0.1:9'

it('the demo uses its own upstream, log and files in a shell with the settings of a real bridge', async () => {
  using directory = temporaryDirectory()
  const demo = await startBridge(
    {
      BRIDGE_DATA_DIR: directory.path,
      BRIDGE_ROLES: 'poller',
      BRIDGE_KAFKA_BROKERS: NOWHERE,
      BRIDGE_UPSTREAM_URL: `http://${NOWHERE}/v2`,
      BRIDGE_UPSTREAM_KEY: 'the-real-key',
      BRIDGE_ADMIN_TOKEN: ADMIN_TOKEN,
    },
    ['demo'],
  )
  try {
    expect(demo.ready).toMatchObject({
      log: 'embedded',
      roles: ['poller', 'webhooks', 'feed', 'api', 'console'],
    })
    expect(demo.stderr()).toContain(
      'settings that the demo ignores: BRIDGE_DATA_DIR, BRIDGE_ROLES, BRIDGE_KAFKA_BROKERS, BRIDGE_UPSTREAM_URL, BRIDGE_UPSTREAM_KEY',
    )
    const status = await eventually(
      () => getJson<{ upstream: { state: string }; log: { latest: number } }>(`${demo.ready.http}/v1/status`),
      ({ log }) => log.latest > 0,
    )
    expect(status.upstream.state).toBe('ok')
  } finally {
    expect(await demo.stop()).toBe(0)
  }
  expect(existsSync(join(directory.path, 'bridge.db'))).toBe(false)
})

it('the demo answers its own webhooks, lets a browser in, and counts what a plain poller would have lost', async () => {
  const demo = await startBridge({ BRIDGE_HTTP_PORT: '0', BRIDGE_OPS_PORT: '0' }, ['demo'])
  try {
    await eventually(demo.stderr, (text) => text.includes('What flows:'))
    const [, token = ''] = /^ {2}token +(\S+)$/m.exec(demo.stderr()) ?? []
    expect(token).toMatch(/^demo-[a-z2-9]{11}$/)
    const [, link = ''] = /^ {2}console +(\S+)/m.exec(demo.stderr()) ?? []
    expect(link.startsWith(`${demo.ready.http}/console/#c1.`)).toBe(true)
    const signIn = { method: 'POST', body: JSON.stringify({ code: link.split('#')[1] }) }
    const json = { 'content-type': 'application/json' }
    const session = await fetch(`${demo.ready.http}/v1/sessions`, { ...signIn, headers: json })
    expect(session.status).toBe(201)
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const [, url = ''] = /webhooks add (\S+) /.exec(demo.stderr()) ?? []
    const body = JSON.stringify({ url })
    const made = await fetch(`${demo.ready.http}/v1/webhooks`, { method: 'POST', headers, body })
    expect(made.status).toBe(201)
    const origin = 'http://localhost:3000'
    const asked = await fetch(`${demo.ready.http}/v1/status`, { headers: { ...headers, origin } })
    expect([asked.status, asked.headers.get('access-control-allow-origin')]).toEqual([200, origin])
    await eventually(
      demo.stderr,
      (text) =>
        /webhooks received [1-9]/.test(text) && /a plain poller would have lost [1-9]\d* by now/.test(text),
    )
  } finally {
    expect(await demo.stop()).toBe(0)
  }
})
