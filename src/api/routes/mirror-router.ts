/**
 * Serves the mirrored upstream API under `/v2`. Clients use a token of the bridge as API key. Limits on
 * address and body are those of the bridge; error bodies have the upstream's form.
 */
import type { Request, RequestHandler } from 'express'
import { setRateHeaders } from '../../http/app.ts'
import { type Authenticate, type Caller, tokensLoading } from '../../http/auth.ts'
import { refuseBody } from '../../http/body.ts'
import type { SendBuffers } from '../../http/bounds/send-buffers.ts'
import { endAnswer } from '../../http/end-answer.ts'
import { checkUrlLength } from '../../http/limits.ts'
import { HttpProblem } from '../../http/problem.ts'
import type { RateLimits } from '../../http/rate-limits.ts'
import type { Logger } from '../../obs/logger.ts'
import type { MirrorRoute } from '../mirror/route.ts'
import { mirrorRouter } from '../mirror/router.ts'

export interface BridgeMirrorOptions {
  routes: readonly MirrorRoute[]
  /** Authenticates the token in `x-api-key`; it must have the scope `events:read`. */
  authenticate: Authenticate
  /** Rates of requests; absent: no limits. */
  rates?: RateLimits
  /** Counts the answers that clients have not taken. */
  sendBuffers: SendBuffers
  logger: Logger
}

/** Creates the handler of everything below `/v2`. Every key has the rights of the plan `enterprise`. */
export function bridgeMirror(options: BridgeMirrorOptions): RequestHandler {
  const { routes, authenticate, rates, sendBuffers, logger } = options
  return mirrorRouter({
    routes,
    unknownParameters: 'warn',
    async check(request, response) {
      setRateHeaders(response, rates?.takeAddress(request) ?? null)
      await checkBounds(request)
    },
    authenticate(request, response) {
      const caller = callerOf(request.get('x-api-key'), authenticate)
      if (caller !== null) setRateHeaders(response, rates?.takeToken(caller, request) ?? null)
      return caller === null ? null : { plan: 'enterprise', id: caller.tokenId }
    },
    deliver(response, body) {
      const bytes = Buffer.from(body)
      sendBuffers.retainUntilOut(bytes, response)
      endAnswer(response.req, response.set('cache-control', 'no-store'), bytes)
    },
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
function callerOf(key: string | undefined, authenticate: Authenticate): Caller | null {
  const caller = key === undefined ? 'unknown' : authenticate(key)
  if (caller === 'loading') throw tokensLoading()
  if (caller === 'unknown' || caller === 'expired') return null
  if (caller.scopes.includes('events:read')) return caller
  throw new HttpProblem('forbidden', 'this key does not have the scope events:read')
}
