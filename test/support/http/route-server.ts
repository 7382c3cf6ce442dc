/** Serves single routes on a real socket, for tests of routes that need no other part of the product. */
import { createApp } from '../../../src/http/app.ts'
import { adminAuthenticate, DEFAULT_TENANT, scopes } from '../../../src/http/auth.ts'
import { listen } from '../../../src/http/listener.ts'
import type { AnyRoute } from '../../../src/http/route.ts'
import { systemClock } from '../../../src/lifecycle/clock.ts'
import { keepingLogger } from '../keeping-logger.ts'

/** Has every scope. */
export const TOKEN = 'the token of a route server'

/** The same, of one tenant. */
export const TENANT_TOKEN = 'the token of a tenant'

const tenantCaller = {
  tokenId: 'tok_tenant',
  tenant: DEFAULT_TENANT,
  scopes,
  seesAllTenants: false,
  expiresAtMs: null,
  ended: new AbortController().signal,
}

/** A server of these routes. */
export async function serveRoutes(routes: readonly AnyRoute[]) {
  const { logger } = keepingLogger()
  const app = createApp({
    routes: [...routes],
    authenticate: adminAuthenticate(TOKEN, (token) => (token === TENANT_TOKEN ? tenantCaller : 'unknown')),
    corsOrigins: [],
    logger,
  })
  const listener = await listen(app, { host: '127.0.0.1', port: 0, setting: 'X', clock: systemClock, logger })
  const ask = async (path: string, token = TOKEN) => {
    const response = await fetch(`${listener.url}${path}`, { headers: { authorization: `Bearer ${token}` } })
    // biome-ignore lint/suspicious/noExplicitAny: tests read whatever they expect
    const body: any = await response.json()
    return { status: response.status, headers: response.headers, body }
  }
  return {
    ask,
    /** The body of a good answer. */
    async json<T>(path: string, token = TOKEN): Promise<T> {
      const { status, body } = await ask(path, token)
      if (status !== 200) throw new Error(`${path}: ${status} ${JSON.stringify(body)}`)
      return body
    },
    [Symbol.asyncDispose]: () => listener.close(0),
  }
}
