/** Serves the mirror on a real socket over a store that a test fills and empties. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import express from 'express'
import { onTestFinished } from 'vitest'
import { type ItemRoutesOptions, itemRoutes } from '../../../src/api/mirror/item-routes.ts'
import { type MirrorOptions, mirrorRouter } from '../../../src/api/mirror/router.ts'
import { readDisclosure } from '../../../src/core/disclosure.ts'
import { disclosureFacts } from '../../../src/core/filter/facts.ts'
import { MarketItems } from '../../../src/sandbox/store/item-store.ts'
import type { Item, Reply } from '../../sandbox/sandbox-client.ts'

export interface MirrorServer {
  url: string
  /** Lists these items too. */
  publish: (items: readonly Item[]) => void
  /** Removes all items. */
  empty: () => void
  list: (query?: string | Record<string, string | number>) => Promise<Reply>
}

/** The current time of the server. */
export const NOW_MS = Date.parse('2026-02-03T12:00:00Z')

/** Opens a server that closes when the test ends; the default plan of callers is `enterprise`. */
export async function openMirror(
  options: Partial<MirrorOptions & ItemRoutesOptions> = {},
): Promise<MirrorServer> {
  let items = new MarketItems()
  const app = express()
  const routes = itemRoutes({
    store: {
      pageBefore: (selection, scan, limit) => items.pageBefore(selection, scan, limit),
      newestSince: (selection, cursor, limit) => items.newestSince(selection, cursor, limit),
      pageAt: (selection, offset, limit) => items.pageAt(selection, offset, limit),
      byGuid: (guid) => items.byGuid(guid),
      byRnsDateId: (rnsDateId) => items.byRnsDateId(rnsDateId),
    },
    now: () => NOW_MS,
    ...options,
  })
  app.use('/v2', mirrorRouter({ authenticate: () => ({ plan: 'enterprise' }), routes, ...options }))
  const server = createServer(app)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v2`
  return {
    url,
    publish(published) {
      for (const listed of published) {
        const read = readDisclosure(listed)
        if (!read.ok) throw new Error(read.reason)
        const { guid, timeMs, timestamp } = read.disclosure
        items.put({
          timeMs,
          key: guid,
          guid,
          rnsDateId: `${timestamp.slice(0, 10)}.${listed.rnsId}`,
          raw: JSON.stringify(listed),
          facts: disclosureFacts(read.disclosure, 'published', 'Native'),
          visibleMs: timeMs,
        })
      }
    },
    empty() {
      items = new MarketItems()
    },
    async list(query = '') {
      const pairs =
        typeof query === 'string' ? query : Object.entries(query).map(([name, value]) => `${name}=${value}`)
      const text = typeof pairs === 'string' ? pairs : pairs.join('&')
      const response = await fetch(`${url}/disclosures/sources/rns/items?${text}`)
      return {
        status: response.status,
        headers: response.headers,
        body: (await response.json()) as Reply['body'],
      }
    },
  }
}
