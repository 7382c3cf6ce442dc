/**
 * Runs a bridge that speaks TLS itself, and reads it as users do: pull, WebSocket, `bridge tail`.
 */
import { writeFileSync } from 'node:fs'
import { request } from 'node:https'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import WebSocket from 'ws'
import { systemClock } from '../../../src/lifecycle/clock.ts'
import { startSandbox } from '../../../src/sandbox/sandbox.ts'
import {
  ADMIN_TOKEN,
  bridgeEnv,
  runToEnd,
  startBridge,
  startCommand,
  temporaryDirectory,
} from '../../support/bridge-process.ts'
import { until } from '../../support/http/api-server.ts'
import { createTestAuthority } from '../../support/test-certificates.ts'

test('pull, WebSocket and commands work over TLS of the bridge itself', async () => {
  using directory = temporaryDirectory()
  const authority = createTestAuthority()
  const { cert, key } = authority.issue(['localhost'])
  const path = (name: string): string => join(directory.path, name)
  writeFileSync(path('cert.pem'), cert)
  writeFileSync(path('key.pem'), key)
  writeFileSync(path('ca.pem'), authority.ca)
  writeFileSync(path('token'), `${ADMIN_TOKEN}\n`)
  const sandbox = await startSandbox({ scenario: 'demo', weeklyQuota: 1_000_000 }, { clock: systemClock })
  const tls = { BRIDGE_HTTP_TLS_CERT_FILE: path('cert.pem'), BRIDGE_HTTP_TLS_KEY_FILE: path('key.pem') }
  const bridge = await startBridge(bridgeEnv(sandbox, directory.path, { ...tls, BRIDGE_BACKFILL: 'PT1H' }))
  try {
    expect(bridge.ready.http).toMatch(/^https:/)
    const { port } = new URL(bridge.ready.http)
    const url = `https://localhost:${port}`
    const options = { ca: authority.ca, headers: { authorization: `Bearer ${ADMIN_TOKEN}` } }
    const status = await new Promise((resolve, reject) => {
      request(`${url}/v1/disclosures?limit=1`, options, (response) => {
        response.resume()
        resolve(response.statusCode)
      })
        .on('error', reject)
        .end()
    })
    expect(status).toBe(200)
    const socket = new WebSocket(`wss://localhost:${port}/v1/stream`, options)
    const first = await new Promise((resolve, reject) => {
      socket.once('message', (data: Buffer) => resolve(JSON.parse(data.toString())))
      socket.once('error', reject)
    })
    socket.terminate()
    expect(first).toMatchObject({ type: 'authenticated' })
    const trust = { NODE_EXTRA_CA_CERTS: path('ca.pem') }
    const tail = startCommand(['tail', '--json', '--url', url, '--token-file', path('token')], trust)
    await until(() => tail.stdout().includes('"specversion"'))
    expect(await tail.stop('SIGINT')).toBe(0)
    const strange = await runToEnd(['tokens', 'list', '--url', url, '--token-file', path('token')], {})
    expect([strange.code, strange.stderr]).toEqual([1, expect.stringContaining('certificate')])
  } finally {
    await bridge.stop()
    await sandbox.close()
  }
})
