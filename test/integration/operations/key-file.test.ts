/**
 * Changes the file of the upstream key under a running bridge, as Kubernetes and as an editor do, before an upstream that
 * takes only the keys of the moment.
 */

import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { systemClock } from '../../../src/lifecycle/clock.ts'
import { startSandbox } from '../../../src/sandbox/sandbox.ts'
import { bridgeEnv, startBridge, temporaryDirectory } from '../../support/bridge-process.ts'
import { eventually, getJson } from '../../support/http/api-client.ts'

/** An upstream before the sandbox that takes the keys of the moment alone, and notes the keys that come. */
async function startGate(sandbox: { url: string; key: string }, first: string) {
  const gate = { accepted: [first], seen: [] as string[] }
  const server = createServer((incoming: IncomingMessage, response: ServerResponse) => {
    const key = `${incoming.headers['x-api-key']}`
    gate.seen.push(key)
    if (!gate.accepted.includes(key)) {
      response.writeHead(401, { 'content-type': 'application/json' }).end('{"message":"wrong key"}')
      return
    }
    const target = new URL(`${new URL(sandbox.url).origin}${incoming.url}`)
    const headers = { ...incoming.headers, 'x-api-key': sandbox.key, host: target.host }
    request(target, { headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(response)
    }).end()
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', () => done()))
  const { port } = server.address() as AddressInfo
  return {
    gate,
    url: `http://127.0.0.1:${port}/v2`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((done) => server.close(done))
    },
  }
}

/** A Secret of Kubernetes as a volume: the file is a link through `..data`, which is swapped as a whole. */
function mountedSecret(directory: string) {
  let version = 0
  return {
    path: join(directory, 'key'),
    write(text: string) {
      const folder = `..version-${version++}`
      mkdirSync(join(directory, folder))
      writeFileSync(join(directory, folder, 'key'), text)
      symlinkSync(folder, join(directory, '..data_tmp'))
      renameSync(join(directory, '..data_tmp'), join(directory, '..data'))
      if (version === 1) symlinkSync(join('..data', 'key'), join(directory, 'key'))
      else rmSync(join(directory, `..version-${version - 2}`), { recursive: true })
    },
  }
}

interface Status {
  upstream: { state: string; nextPoll: string }
}

test('a new key of the upstream is taken from its file while the bridge runs; a bad file changes nothing', async () => {
  using directory = temporaryDirectory()
  using secrets = temporaryDirectory()
  const [first, second, third, fourth] = ['first', 'second', 'third', 'fourth'].map(
    (name) => `${name}-key-0123456789`,
  ) as [string, string, string, string]
  const secret = mountedSecret(secrets.path)
  secret.write(`${first}\n`)
  const sandbox = await startSandbox(
    { scenario: 'demo', plan: 'ultimate', weeklyQuota: 1_000_000 },
    { clock: systemClock },
  )
  await using upstream = await startGate(sandbox, first)
  const { gate } = upstream
  const { BRIDGE_UPSTREAM_KEY: _, ...env } = bridgeEnv({ url: upstream.url, key: '' }, directory.path, {
    BRIDGE_UPSTREAM_PLAN: 'ultimate',
    BRIDGE_UPSTREAM_KEY_FILE: secret.path,
    BRIDGE_LOG_LEVEL: 'debug',
  })
  const bridge = await startBridge(env)
  const lines = (event: string) =>
    bridge
      .stderr()
      .split('\n')
      .filter((line) => line.includes(`"event":"${event}"`))
  const upstreamOf = (holds: (upstream: Status['upstream']) => boolean) =>
    eventually(async () => (await getJson<Status>(`${bridge.ready.http}/v1/status`)).upstream, holds, 60_000)
  const seen = (key: string) =>
    eventually(
      () => gate.seen.length,
      () => gate.seen.at(-1) === key,
      30_000,
    )
  try {
    await seen(first)
    expect(await (await fetch(`${bridge.ready.ops}/metrics`)).text()).not.toMatch(
      /^bridge_upstream_key_reload_timestamp_seconds /m,
    )
    // Half written, empty, two lines: the key in use stays.
    for (const bad of ['', 'two words']) {
      secret.write(bad)
      const refused = lines('upstream.key_refused').length
      bridge.child.kill('SIGHUP')
      await eventually(
        () => lines('upstream.key_refused').length,
        (count) => count === refused + 1,
        30_000,
      )
    }
    expect(lines('upstream.key_refused')[0]).toContain('The key that was read before stays in use.')
    expect(lines('upstream.key_reloaded')).toEqual([])
    gate.accepted = [first, second]
    secret.write(second)
    await eventually(
      () => lines('upstream.key_reloaded').length,
      (count) => count === 1,
      30_000,
    )
    await seen(second)
    expect(await (await fetch(`${bridge.ready.ops}/metrics`)).text()).toMatch(
      /^bridge_upstream_key_reload_timestamp_seconds \d/m,
    )
    // Without waiting for the next look.
    gate.accepted = [second, third]
    secret.write(third)
    bridge.child.kill('SIGHUP')
    await eventually(
      () => lines('upstream.key_reloaded').length,
      (count) => count === 2,
      30_000,
    )
    await seen(third)
    await upstreamOf(({ state }) => state === 'ok')
    // The key is refused; its successor ends the wait, which by now has some 20 s.
    gate.accepted = [fourth]
    const waiting = await upstreamOf(
      ({ state, nextPoll }) => state === 'unauthorised' && Date.parse(nextPoll) > Date.now() + 15_000,
    )
    secret.write(fourth)
    bridge.child.kill('SIGHUP')
    await seen(fourth)
    expect(Date.now()).toBeLessThan(Date.parse(waiting.nextPoll))
    await upstreamOf(({ state }) => state === 'ok')
    // What was refused was the key: readers get no gap of a refused cursor.
    expect(lines('gap.opened').filter((line) => line.includes('cursor_refused'))).toEqual([])
    expect(new Set(gate.seen)).toEqual(new Set([first, second, third, fourth]))
    for (const key of [first, second, third, fourth]) expect(bridge.stderr()).not.toContain(key)
  } finally {
    await bridge.stop()
    await sandbox.close()
  }
  expect(await bridge.ended).toBe(0)
}, 120_000)
