/**
 * The upstream API as the bridge serves it (`/v2`, contract §6): a token of the bridge as the key, the bridge's bounds of a
 * request, upstream's error bodies. Owns what a key means here. Refuses to know what is served: routes are given.
 */
import type { Request, RequestHandler } from 'express'
import { type Authenticate, tokensLoading } from '../../http/auth.ts'
import { refuseBody } from '../../http/body.ts'
import { checkUrlLength } from '../../http/limits.ts'
import { HttpProblem } from '../../http/problem.ts'
import type { Logger } from '../../obs/logger.ts'
import type { MirrorCaller, MirrorRoute } from '../mirror/route.ts'
import { mirrorRouter } from '../mirror/router.ts'

export interface BridgeMirrorOptions {
  routes: readonly MirrorRoute[]
  /** Knows the tokens that are good as `x-api-key`, where they have the scope `events:read`. */
  authenticate: Authenticate
  logger: Logger
}

/** The handler of everything below `/v2`. Who has a key may what the plan `enterprise` may. */
export function bridgeMirror({ routes, authenticate, logger }: BridgeMirrorOptions): RequestHandler {
  return mirrorRouter({
    routes,
    unknownParameters: 'warn',
    check: checkBounds,
    authenticate: (request) => callerOf(request.get('x-api-key'), authenticate),
    deliver: (response, body) => void response.set('cache-control', 'no-store').end(body),
    onFault: (error, request) =>
      logger.error('http.failed', {
        method: request.method,
        path: `${request.baseUrl}${request.path}`.slice(0, 200),
        error,
      }),
  })
}

/** A method that is wrong anyway is told so, whatever its body. */
async function checkBounds(request: Request): Promise<void> {
  checkUrlLength(request.originalUrl)
  if (request.method === 'GET' || request.method === 'HEAD') await refuseBody(request)
}

/** An expired key is told what a wrong one is told: upstream has no other words. */
function callerOf(key: string | undefined, authenticate: Authenticate): MirrorCaller | null {
  const caller = key === undefined ? 'unknown' : authenticate(key)
  if (caller === 'loading') throw tokensLoading()
  if (caller === 'unknown' || caller === 'expired') return null
  if (caller.scopes.includes('events:read')) return { plan: 'enterprise' }
  throw new HttpProblem('forbidden', 'this key does not have the scope events:read')
}
