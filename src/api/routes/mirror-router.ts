/**
 * Serves the mirrored upstream API under `/v2`. Clients use a token of the bridge as API key. Limits on
 * address and body are those of the bridge; error bodies have the upstream's form.
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
  /** Authenticates the token in `x-api-key`; it must have the scope `events:read`. */
  authenticate: Authenticate
  logger: Logger
}

/** Creates the handler of everything below `/v2`. Every key has the rights of the plan `enterprise`. */
export function bridgeMirror({ routes, authenticate, logger }: BridgeMirrorOptions): RequestHandler {
  return mirrorRouter({
    routes,
    unknownParameters: 'warn',
    check: checkBounds,
    authenticate: (request) => callerOf(request.get('x-api-key'), authenticate),
    deliver: (response, body) => void response.set('cache-control', 'no-store').end(body),
    onFault: (error, request) =>
      logger.error('http.request_failed', {
        method: request.method,
        path: `${request.baseUrl}${request.path}`.slice(0, 200),
        error,
      }),
  })
}

/** Limits the URL length and refuses a body of GET and HEAD; other methods answer 405 in any case. */
async function checkBounds(request: Request): Promise<void> {
  checkUrlLength(request.originalUrl)
  if (request.method === 'GET' || request.method === 'HEAD') await refuseBody(request)
}

/** Finds the caller of a key. An expired key answers like an unknown one, because the upstream has no other error. */
function callerOf(key: string | undefined, authenticate: Authenticate): MirrorCaller | null {
  const caller = key === undefined ? 'unknown' : authenticate(key)
  if (caller === 'loading') throw tokensLoading()
  if (caller === 'unknown' || caller === 'expired') return null
  if (caller.scopes.includes('events:read')) return { plan: 'enterprise', id: caller.tokenId }
  throw new HttpProblem('forbidden', 'this key does not have the scope events:read')
}
