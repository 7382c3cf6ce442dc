import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { nodesCommand } from '../../../../src/cli/commands/operations/nodes.ts'
import { testContext } from '../../command-context.ts'

const NODE = {
  id: 'bridge-1:7',
  self: true,
  state: 'up',
  leads: true,
  roles: ['poller', 'api'],
  version: '0.1.0',
  startedAt: '2026-07-02T19:12:40.518Z',
  lastSeen: '2026-02-03T07:00:09.733Z',
  copy: { sequence: 51877, lagEvents: 3, lagSeconds: 1.2, filled: 1 },
}

test('bridge nodes shows a row for each node, and the nodes as they came with --json', async () => {
  const data = [NODE, { ...NODE, id: 'bridge-2:7', self: false, state: 'gone', leads: false }]
  const server = createServer((_request, response) =>
    response.setHeader('Content-Type', 'application/json').end(JSON.stringify({ data, next: null })),
  )
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const run = async (...args: string[]): Promise<string[]> => {
    const { context, stdout } = testContext()
    await nodesCommand([...args, '--url', url, '--token', 'any'], context)
    return stdout
  }
  const rows = (await run()).map((line) => line.split(/ {2,}/))
  expect(rows).toEqual([
    ['NODE', 'STATE', 'VERSION', 'STARTED', 'LAST SEEN', 'COPY', 'BEHIND', 'ROLES'],
    [
      'bridge-1:7 (asked)',
      'leads',
      '0.1.0',
      '2026-07-02T20:12:40+01:00',
      '2026-02-03T07:00:09+00:00',
      '51877',
      '3 events, 1 s',
      'poller,api',
    ],
    [
      'bridge-2:7',
      'gone',
      '0.1.0',
      '2026-07-02T20:12:40+01:00',
      '2026-02-03T07:00:09+00:00',
      '51877',
      '3 events, 1 s',
      'poller,api',
    ],
  ])
  expect((await run('--json')).map((line) => JSON.parse(line))).toEqual(data)
})
