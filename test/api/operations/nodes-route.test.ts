import { expect, test } from 'vitest'
import { type NodesPage, nodesRoute } from '../../../src/api/operations/nodes-route.ts'
import { createApp } from '../../../src/http/app.ts'
import { adminAuthenticate } from '../../../src/http/auth.ts'
import { listen } from '../../../src/http/listener.ts'
import { systemClock } from '../../../src/lifecycle/clock.ts'
import { createLogger } from '../../../src/obs/logger.ts'
import type { ListedNode } from '../../../src/registry/nodes.ts'
import { knows } from '../../support/http/callers.ts'

const NOW_MS = Date.UTC(2026, 5, 1, 6)

function node(id: string, parts: Partial<ListedNode> = {}): ListedNode {
  return {
    ...{ id, isSelf: false, state: 'up', seenMs: NOW_MS, version: '1.2.3', roles: ['api'], startedMs: 0 },
    ...{ sequence: 7, lagEvents: 2, lagMs: 1500, filled: 1 },
    ...parts,
  }
}

/** A server of the route over these nodes; `page` asks it. */
async function serve(list: ListedNode[], leaderId: string | null) {
  const logger = createLogger({ level: 'silent', secrets: [] })
  const app = createApp({
    routes: [
      nodesRoute({ nodes: { list: () => list, heardMs: NOW_MS }, leaderId: () => leaderId, key: 'key' }),
    ],
    authenticate: adminAuthenticate('operator', knows({ tenant: { scopes: ['admin'] }, reader: {} })),
    corsOrigins: [],
    logger,
  })
  const listener = await listen(app, { host: '127.0.0.1', port: 0, setting: 'X', clock: systemClock, logger })
  return {
    async page(token = 'operator', query = ''): Promise<NodesPage & { status: number }> {
      const headers = { authorization: `Bearer ${token}` }
      const response = await fetch(`${listener.url}/v1/nodes${query}`, { headers })
      return { ...((await response.json()) as NodesPage), status: response.status }
    },
    [Symbol.asyncDispose]: () => listener.close(0),
  }
}

test('each node is shown with what it said, and the one that leads by the newest report', async () => {
  await using server = await serve([node('b:2', { isSelf: true }), node('a:1')], 'a:1')
  expect(await server.page()).toEqual({
    status: 200,
    asOf: '2026-06-01T06:00:00.000Z',
    next: null,
    data: [
      {
        id: 'a:1',
        self: false,
        state: 'up',
        leads: true,
        roles: ['api'],
        version: '1.2.3',
        startedAt: '1970-01-01T00:00:00.000Z',
        lastSeen: '2026-06-01T06:00:00.000Z',
        copy: { sequence: 7, lagEvents: 2, lagSeconds: 1.5, filled: 1 },
      },
      expect.objectContaining({ id: 'b:2', self: true, leads: false }),
    ],
  })
})

test('a leader that is gone or has stopped does not lead; without any report nobody knows', async () => {
  await using server = await serve([node('a:1', { state: 'gone' }), node('b:2', { state: 'stopped' })], 'a:1')
  expect((await server.page()).data.map(({ leads }) => leads)).toEqual([false, false])
  await using ignorant = await serve([node('a:1')], null)
  expect((await ignorant.page()).data.map(({ leads }) => leads)).toEqual([null])
})

test('it needs the scope admin; a tenant sees no host names, and pages by the names that it sees', async () => {
  const ids = ['a:1', 'b:2', 'c:3', 'd:4', 'e:5']
  await using server = await serve(
    ids.map((id) => node(id)),
    'c:3',
  )
  expect((await server.page('reader')).status).toBe(403)
  for (const token of ['operator', 'tenant']) {
    const seen: string[] = []
    let leaders = 0
    for (let next: string | null = ''; next !== null; ) {
      const page: NodesPage = await server.page(token, `?limit=2${next === '' ? '' : `&after=${next}`}`)
      seen.push(...page.data.map(({ id }) => id))
      leaders += page.data.filter(({ leads }) => leads).length
      next = page.next
    }
    expect(seen).toEqual([...new Set(seen)].sort())
    expect([seen.length, leaders]).toEqual([5, 1])
    if (token === 'tenant') for (const id of seen) expect(id).toMatch(/^[0-9a-f]{12}$/)
    else expect(seen).toEqual(ids)
  }
})
