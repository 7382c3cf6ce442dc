/**
 * Runs commands as processes against a server whose answers carry characters that steer a terminal: none may reach the
 * output as it is.
 */
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { runToEnd } from '../../support/bridge-process.ts'

/** A command of C1, a mark that turns text around, a line separator, a tag beyond the first plane, and Escape. */
const STRANGE = '\u009b31m \u202egpj.exe \u2028 \u{e0041} \u001b[2J'
const attempt = {
  id: 'at_1',
  eventId: STRANGE,
  webhookId: 'msg_1',
  attempt: 1,
  at: '2026-06-01T06:00:00.000Z',
  status: 503,
  outcome: 'server_error',
  durationMs: 5,
  phase: 'body',
  response: STRANGE,
}
let server: Server
let url: string

beforeAll(async () => {
  server = createServer((request, response) => {
    const isList = request.url?.includes('/attempts') === true
    const body = isList
      ? { data: [attempt], next: null }
      : { status: 403, code: 'forbidden', detail: STRANGE, errors: [] }
    response.writeHead(isList ? 200 : 403, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  })
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})

afterAll(async () => {
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
})

function run(...args: string[]) {
  return runToEnd([...args, '--url', url, '--token', 'a token of this test'], {})
}

test('--json writes the same JSON in harmless characters', async () => {
  const { stdout, code } = await run('webhooks', 'attempts', 'ep_000000000000000000000', '--json')
  expect([code, stdout]).toEqual([0, expect.stringMatching(/^[\x20-\x7e\n]+$/)])
  expect(stdout).toContain('\\u009b31m \\u202egpj.exe \\u2028 \\udb40\\udc41 \\u001b[2J')
  expect(
    JSON.stringify(
      stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line)),
    ),
  ).toContain(JSON.stringify(STRANGE).slice(1, -1))
})

test('lines for people and errors have no character that steers', async () => {
  const shown = await run('webhooks', 'attempts', 'ep_000000000000000000000')
  const refused = await run('webhooks', 'list')
  expect([shown.code, refused.code]).toEqual([0, 2])
  for (const text of [shown.stdout, shown.stderr, refused.stdout, refused.stderr])
    expect(text.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u)
})
