/**
 * Reads and writes the cookie of a browser's session. It counts only for requests of pages of this very origin, and is
 * given only over https, or over plain http to a browser on the same machine.
 */
import type { IncomingMessage } from 'node:http'
import { isLoopback } from '../core/ip.ts'
import { HttpProblem } from '../http/problem.ts'

/** A browser takes and sends a cookie of this name over https only, and for this host alone. */
const SECURE_NAME = '__Host-bridge'
/**
 * Begins the name on plain http to this machine, where some browsers take no secure cookie. The port follows: cookies know
 * none, and several bridges on one machine would overwrite each other's.
 */
const LOCAL_NAME = 'bridge'
const HOST_AND_PORT = /^(\[[^\]]*\]|[^:]*)(?::(\d+))?$/

/** The text of the session's cookie; null where there is none, or where another origin's page may have sent the request. */
export function sessionText(request: IncomingMessage): string | null {
  return isSameOrigin(request) ? cookieText(request) : null
}

/** The same, whoever sent the request: no answer may show by it what the session may read. */
export function cookieText(request: IncomingMessage): string | null {
  const { cookie } = request.headers
  if (cookie === undefined) return null
  const secure = cookieOf(cookie, SECURE_NAME)
  if (secure !== null || !isLocal(request)) return secure
  return cookieOf(cookie, localName(request))
}

/** @throws HttpProblem `origin_refused` for a request that a page of another origin sends */
export function refuseOtherOrigins(request: IncomingMessage): void {
  const { origin, 'sec-fetch-site': site } = request.headers
  if ((origin === undefined && site === undefined) || isSameOrigin(request)) return
  throw new HttpProblem('origin_refused', 'sessions are for pages of this address only: open /console/ there')
}

/**
 * The header `Set-Cookie` that gives a browser this text for so long; empty and 0 take it away.
 * @throws HttpProblem `forbidden` where the browser would send it over a network in clear
 */
export function sessionCookie(request: IncomingMessage, text: string, lifeMs: number): string {
  const rest = `Path=/; Max-Age=${Math.floor(lifeMs / 1000)}; HttpOnly; SameSite=Strict`
  if (isHttps(request)) return `${SECURE_NAME}=${text}; ${rest}; Secure`
  if (isLocal(request)) return `${localName(request)}=${text}; ${rest}`
  throw new HttpProblem(
    'forbidden',
    'a session needs https, or an address of this machine such as 127.0.0.1: over plain http others could read its cookie. See docs/use/console.md',
  )
}

/** The address of this bridge as the client sees it, e.g. `https://bridge.example`. */
export function seenOrigin(request: IncomingMessage): string {
  return `${isHttps(request) ? 'https' : 'http'}://${request.headers.host ?? 'localhost'}`
}

/** What browsers say: the header that no page can set, or, of an older browser, the origin. */
function isSameOrigin({ headers }: IncomingMessage): boolean {
  const site = headers['sec-fetch-site']
  if (site !== undefined) return site === 'same-origin'
  const { origin, host } = headers
  return origin !== undefined && host !== undefined && URL.parse(origin)?.host === host.toLowerCase()
}

/** Whether the client came by https: to this process, or to a proxy before it. */
function isHttps({ headers, socket }: IncomingMessage): boolean {
  if ('encrypted' in socket) return true
  if (headers.origin !== undefined) return headers.origin.startsWith('https://')
  // Who lies here only gets a cookie that browsers send over https alone.
  return /^https\b/i.test(`${headers['x-forwarded-proto'] ?? ''}`)
}

/** Whether the client named this machine, without TLS. */
function isLocal(request: IncomingMessage): boolean {
  const [, host = ''] = HOST_AND_PORT.exec(request.headers.host ?? '') ?? []
  return !isHttps(request) && isLoopback(host)
}

function localName({ headers }: IncomingMessage): string {
  const [, , port = '80'] = HOST_AND_PORT.exec(headers.host ?? '') ?? []
  return `${LOCAL_NAME}-${port}`
}

/** The first cookie of that name. */
function cookieOf(header: string, name: string): string | null {
  for (const pair of header.split(';')) {
    const [key = '', ...value] = pair.trim().split('=')
    if (key === name) return value.join('=')
  }
  return null
}
