/**
 * Serves `/v1/sessions`: a browser exchanges a token, or the code of a link, for a cookie, unlocks changes and signs out. A
 * page never holds the token, so no script can read it.
 */
import type { IncomingMessage } from 'node:http'
import type { z } from 'zod'
import { meOf, meSchema } from '../api/routes/me-route.ts'
import { isoMillis } from '../core/dates.ts'
import {
  type Authenticate,
  bearerHeader,
  bearerToken,
  type Caller,
  type CallerSession,
  callerOf,
  type FindCaller,
  tokensLoading,
} from '../http/auth.ts'
import { RequestRate } from '../http/bounds/request-rate.ts'
import { HttpProblem, retryLater } from '../http/problem.ts'
import { rateLimited } from '../http/rate-limits.ts'
import { readBody } from '../http/read-body.ts'
import { type AnyRoute, type Call, type OpenCall, sendJson } from '../http/route.ts'
import type { Clock } from '../lifecycle/clock.ts'
import type { Logger } from '../obs/logger.ts'
import { refuseOtherOrigins, seenOrigin, sessionCookie } from '../registry/session-cookie.ts'
import type { Sessions, SignedSession } from '../registry/sessions.ts'
import type { NoTicket } from '../registry/tickets.ts'
import type { Tokens } from '../registry/tokens.ts'
import { CONSOLE_PATH } from './built-page.ts'
import {
  linkAnswer,
  linkRequest,
  MAX_SESSION_BODY_BYTES,
  sessionRequest,
  unlockRequest,
} from './session-schema.ts'

const PATH = '/v1/sessions'
const CURRENT = `${PATH}/current`
const SET_COOKIE = { 'Set-Cookie': 'The cookie of the session: `HttpOnly`, `SameSite=Strict`.' }

/** What the routes work with. */
export interface SessionRoutesOptions {
  sessions: Sessions
  tokens: Pick<Tokens, 'get'>
  authenticate: Authenticate
  findCaller: FindCaller
  clock: Clock
  logger: Logger
  /** Called for each link that was made. */
  onLink?: () => void
}

/** Sessions and links that a token may begin, make or unlock a second, on average: each is an entry of the audit journal. */
const CHANGES_A_SECOND = 1

interface SessionParts extends SessionRoutesOptions {
  changes: RequestRate
}

/** The routes. */
export function sessionRoutes(given: SessionRoutesOptions): AnyRoute[] {
  const options = { ...given, changes: new RequestRate(CHANGES_A_SECOND) }
  return [
    {
      method: 'POST',
      audit: 'session.begun',
      path: PATH,
      scope: 'open',
      takesToken: true,
      summary:
        'Begins a session of a browser: by a token (`token`, or the header `Authorization`), or by the code of a link. 201 with what `GET /v1/me` answers; the cookie replaces the token in requests of pages of this origin. It may only read until it is unlocked. See [console.md](console.md#sessions).',
      parameters: {},
      body: { maxBytes: MAX_SESSION_BODY_BYTES, schema: sessionRequest, isOptional: true },
      answers: { 201: { meaning: 'The session has begun.', schema: meSchema, headers: SET_COOKIE } },
      problems: ['unauthorised', 'forbidden', 'origin_refused', 'over_capacity', 'unavailable'],
      handle: (call) => begin(call, options),
    },
    {
      method: 'POST',
      audit: 'session.link_created',
      path: `${PATH}/links`,
      scope: null,
      isReadOnly: true,
      summary:
        'Makes a link that opens the console once, with a session of the token that asks: 201 with `{url, code, expiresAt}`. It is good for a minute, or for `seconds`, and once on each node. A session makes no links.',
      parameters: {},
      body: { maxBytes: MAX_SESSION_BODY_BYTES, schema: linkRequest, isOptional: true },
      answers: { 201: { meaning: 'The link. It is never to be cached.', schema: linkAnswer } },
      handle: (call) => link(call, options),
    },
    {
      method: 'DELETE',
      audit: 'session.ended',
      path: CURRENT,
      scope: null,
      isReadOnly: true,
      requireTarget: ({ caller }) => void currentOf(caller),
      summary:
        'Ends the session that asks: 204, and the browser forgets the cookie. A caller with a token has no session: 404.',
      parameters: {},
      answers: { 204: { meaning: 'It has ended.', headers: SET_COOKIE } },
      problems: ['not_found'],
      handle: (call) => end(call, options),
    },
    {
      method: 'POST',
      audit: 'session.unlocked',
      path: `${CURRENT}/unlock`,
      scope: null,
      isReadOnly: true,
      requireTarget: ({ caller }) => void currentOf(caller),
      summary:
        'Lets the session that asks change things for 15 minutes: 200 with what `GET /v1/me` answers. It takes the token of the session once more; another one is answered 403.',
      parameters: {},
      body: { maxBytes: MAX_SESSION_BODY_BYTES, schema: unlockRequest },
      answers: { 200: { meaning: 'It is unlocked.', schema: meSchema, headers: SET_COOKIE } },
      problems: ['not_found'],
      handle: (call) => unlock(call, options),
    },
  ]
}

/** @throws HttpProblem `rate_limited` for a token that begins, makes or unlocks too many */
function takeChange({ tokenId }: Caller, { changes, clock }: SessionParts): void {
  const { isWithin, nextInMs } = changes.take(tokenId, clock.now())
  if (isWithin) return
  throw rateLimited(`this token begins more than ${CHANGES_A_SECOND} session or link a second`, nextInMs)
}

async function begin(
  { query, request, response, body, change }: OpenCall,
  options: SessionParts,
): Promise<void> {
  refuseOtherOrigins(request)
  sessionCookie(request, '', 0)
  const shown = readBody(sessionRequest, body)
  const caller = credentialOf(request, shown, options)
  query.check()
  takeChange(caller, options)
  // Last: a code that is refused for anything else stays good.
  if (shown.code !== undefined) tokenIdOf(options.sessions.links.take(shown.code))
  const { tokenId, tenant } = caller
  const session = await change(caller, { target: null, tenant }, async (note) => {
    const begun = options.sessions.begin(caller)
    note({ target: begun.id })
    return begun
  })
  options.logger.info('session.begun', { tokenId, tenant, sessionId: session.id })
  answer({ request, response }, 201, { caller, session }, options)
}

/** The path of the link with this code. */
export function linkOf(code: string): string {
  return `${CONSOLE_PATH}/#${code}`
}

/** The caller that a request shows one credential of; a code is not used up by this. Throws as `callerOf`; HttpProblem `body_invalid` for two. */
function credentialOf(
  request: IncomingMessage,
  { token, code }: z.output<typeof sessionRequest>,
  { sessions, authenticate, findCaller }: SessionRoutesOptions,
): Caller {
  const bearer = bearerHeader(request.headers)
  if ([token, code, bearer].filter((one) => one !== undefined).length > 1) {
    throw new HttpProblem('body_invalid', 'give one of `token`, `code` and the header Authorization')
  }
  if (code === undefined)
    return callerOf(token ?? bearerToken(request.headers.authorization), null, authenticate)
  return callerOf(tokenIdOf(sessions.links.peek(code)), null, findCaller)
}

/** @throws HttpProblem `unauthorised`, or `over_capacity` */
function tokenIdOf(link: { tokenId: string } | NoTicket): string {
  if (typeof link === 'object') return link.tokenId
  throw refusedLink(link)
}

function refusedLink(reason: NoTicket): HttpProblem {
  if (reason === 'full' || reason === 'token_full') {
    return retryLater('over_capacity', 'this node remembers as many used links as it can')
  }
  const causes = { unknown: 'is not one of this bridge', expired: 'has expired', used: 'has been used' }
  const detail = `this link ${causes[reason]}; make another with bridge console, or sign in with a token`
  return new HttpProblem('unauthorised', detail)
}

async function link(
  { query, request, response, body, caller, change }: Call,
  options: SessionParts,
): Promise<void> {
  query.check()
  if (caller.session !== undefined) {
    throw new HttpProblem('forbidden', 'a session makes no links: send the token, or use bridge console')
  }
  const { seconds } = readBody(linkRequest, body)
  takeChange(caller, options)
  const { tokenId, tenant } = caller
  const { ticket: code, expiresAtMs } = await change(
    caller,
    { target: tokenId, tenant, after: { seconds } },
    async () => options.sessions.links.give(caller, seconds * 1000),
  )
  options.onLink?.()
  const made: z.infer<typeof linkAnswer> = {
    url: `${seenOrigin(request)}${linkOf(code)}`,
    code,
    expiresAt: isoMillis(expiresAtMs),
  }
  sendJson(response, 201, Buffer.from(JSON.stringify(made)))
}

async function end(call: Call, options: SessionRoutesOptions): Promise<void> {
  const { query, request, response, caller } = call
  query.check()
  const session = currentOf(caller)
  const { tokenId, tenant } = caller
  await call.change(caller, { target: session.id, tenant }, async () => options.sessions.end(session))
  options.logger.info('session.ended', { tokenId, tenant, sessionId: session.id })
  const headers = { 'Set-Cookie': sessionCookie(request, '', 0), 'Cache-Control': 'no-store' }
  response.writeHead(204, headers).end()
}

async function unlock(
  { query, request, response, body, caller, change }: Call,
  options: SessionParts,
): Promise<void> {
  query.check()
  const { token } = readBody(unlockRequest, body)
  const { tokenId } = caller
  const shown = options.authenticate(token)
  if (shown === 'loading') throw tokensLoading()
  // No 401, which would say that the session has ended; nor whether another token is valid.
  if (typeof shown === 'string' || shown.tokenId !== tokenId) {
    throw new HttpProblem('forbidden', 'this is not the token of the session')
  }
  takeChange(caller, options)
  const { tenant } = caller
  const locked = currentOf(caller)
  const session = await change(caller, { target: locked.id, tenant }, async () =>
    options.sessions.unlock(tokenId, locked),
  )
  options.logger.info('session.unlocked', { tokenId, tenant, sessionId: session.id })
  answer({ request, response }, 200, { caller, session }, options)
}

/** @throws HttpProblem `not_found` for a caller without a session */
function currentOf({ session }: Caller): CallerSession {
  if (session !== undefined) return session
  throw new HttpProblem('not_found', 'there is no session: this request shows a token, and no cookie')
}

/** Answers with the cookie of a session and what it may do. */
function answer(
  { request, response }: Pick<Call, 'request' | 'response'>,
  status: number,
  { caller, session }: { caller: Caller; session: SignedSession },
  { tokens, clock }: SessionRoutesOptions,
): void {
  const { text, ...facts } = session
  const me = meOf({ ...caller, session: facts }, tokens)
  sendJson(response, status, Buffer.from(JSON.stringify(me)), {
    'Set-Cookie': sessionCookie(request, text, session.endsMs - clock.now()),
  })
}
