/**
 * Serves the console's page below `/console/`: the shell for every screen, and the files that it loads, compressed and
 * kept for ever by browsers. `GET /` leads there.
 */
import { gunzipSync } from 'node:zlib'
import type { Request, RequestHandler, Response } from 'express'
import { checkAddress, type Mount, refuseMethod, setRateHeaders } from '../http/app.ts'
import { refuseBody } from '../http/body.ts'
import { HttpProblem } from '../http/problem.ts'
import type { RateLimits } from '../http/rate-limits.ts'
import { CONSOLE_PATH } from './built-page.ts'
import { MAIN } from './bundle.ts'
import type { PageFile, ReadyPage } from './page-source.ts'

/** What the page is served from. */
export interface PageRouterOptions {
  page: () => Promise<ReadyPage>
  /** Whether the browser that sends a request has a session. */
  isSignedIn: (request: Request) => boolean
  /** Rates of requests; absent: no limits. */
  rates?: RateLimits
}

/** Nothing runs, loads or is sent anywhere but to this bridge; no text becomes markup or script. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ')
/** Those of a document; a file keeps the policy of every answer. */
const SHELL_HEADERS = {
  'Content-Security-Policy': POLICY,
  'Cross-Origin-Opener-Policy': 'same-origin',
}
const HTML = 'text/html; charset=utf-8'
const SCRIPT = 'text/javascript; charset=utf-8'
/** In the place of the script of another version of the page: during an update, another node has sent the shell. */
const RELOAD = Buffer.from(
  "document.body.textContent = 'The console is being updated. Load this page again in a moment.'\n",
)
const ASSETS = '/assets/'
const OUTDATED_MAIN = new RegExp(`^${ASSETS}([0-9a-f]{16})/${MAIN}$`)
/** Every path of the page begins so; for others no page is built. */
const FIRST_PART = /^\/[a-z]*(?:\/|$)/
const FOR_EVER = 'public, max-age=31536000, immutable'
/** The best one first, whatever the order of the client. */
const ENCODINGS = ['br', 'gzip'] as const
const isRead = (method: string): boolean => method === 'GET' || method === 'HEAD'

/** The mounts of the page and of the way to it. */
export function consoleMounts(options: PageRouterOptions): Mount[] {
  return [
    { prefix: '/', handler: leadToConsole(options) },
    { prefix: CONSOLE_PATH, handler: servePage(options) },
  ]
}

/** Sends browsers from `/` to the console; whoever does not take HTML gets the usual answer. */
function leadToConsole({ rates }: PageRouterOptions): RequestHandler {
  const refuse = refuseMethod('GET, HEAD')
  return (request, response, next) => {
    if (request.path !== '/') return next()
    if (!isRead(request.method)) return refuse(request, response, next)
    if (request.accepts('html') === false) return next()
    setRateHeaders(response, rates?.takeAddress(request) ?? null)
    redirect(response, 302)
  }
}

function servePage({ page, isSignedIn, rates }: PageRouterOptions): RequestHandler {
  const refuse = refuseMethod('GET, HEAD')
  return async (request, response, next) => {
    setRateHeaders(response, rates?.takeAddress(request) ?? null)
    checkAddress(request)
    if (!isRead(request.method)) return refuse(request, response, next)
    await refuseBody(request)
    if (request.originalUrl.split('?')[0] === CONSOLE_PATH) return redirect(response, 308)
    const { path } = request
    if (!FIRST_PART.test(path)) throw noScreen()
    const built = await page()
    if (isOutdatedMain(built, path)) send(response, { type: SCRIPT, cache: 'no-store', body: RELOAD })
    else if (path.startsWith(ASSETS)) sendFile(request, response, fileOf(built, path))
    else if (isScreen(built, path))
      send(response, {
        type: HTML,
        cache: 'no-store',
        body: isDirect(request) && !isSignedIn(request) ? built.directShell : built.shell,
        headers: SHELL_HEADERS,
      })
    else throw noScreen()
  }
}

/**
 * Whether no other site has led the browser here: it must not sign in by a link's code unasked, for it would be that site's
 * session. A link in a mail or chat program looks direct too, so the page also asks wherever a session would be replaced.
 */
function isDirect({ headers }: Request): boolean {
  const site = headers['sec-fetch-site']
  return site === 'none' || site === 'same-origin'
}

function noScreen(): HttpProblem {
  return new HttpProblem('not_found', `the console has no such screen; it begins at ${CONSOLE_PATH}/`)
}

function redirect(response: Response, status: 302 | 308): void {
  const headers = { Location: `${CONSOLE_PATH}/`, 'Cache-Control': 'no-store', 'Content-Length': '0' }
  response.writeHead(status, headers).end()
}

function isScreen({ screens }: ReadyPage, path: string): boolean {
  const [, first = ''] = path.split('/')
  return path === '/' || screens.includes(first)
}

/** Whether it is the first script of another version of the page. A 404 would leave the page blank. */
function isOutdatedMain({ hash }: ReadyPage, path: string): boolean {
  const [, other = hash] = OUTDATED_MAIN.exec(path) ?? []
  return other !== hash
}

/** @throws HttpProblem `not_found`, also for a file of another version of the page */
function fileOf({ hash, files }: ReadyPage, path: string): PageFile {
  const prefix = `${ASSETS}${hash}/`
  const file = path.startsWith(prefix) ? files.get(path.slice(prefix.length)) : undefined
  if (file !== undefined) return file
  throw new HttpProblem('not_found', 'the console has no such file, or no longer: load the page again')
}

function sendFile(request: Request, response: Response, file: PageFile): void {
  const encoding = ENCODINGS.find((name) => request.acceptsEncodings(name) === name)
  response.vary('Accept-Encoding')
  if (encoding !== undefined) response.setHeader('Content-Encoding', encoding)
  const body = encoding === 'br' ? file.brotli : encoding === 'gzip' ? file.gzip : plainOf(file)
  send(response, { type: file.type, cache: FOR_EVER, body })
}

function plainOf(file: PageFile): Buffer {
  file.plain ??= gunzipSync(file.gzip)
  return file.plain
}

function send(
  response: Response,
  {
    type,
    cache,
    body,
    headers = {},
  }: { type: string; cache: string; body: Buffer; headers?: Record<string, string> },
): void {
  response.writeHead(200, {
    ...headers,
    'Cross-Origin-Resource-Policy': 'same-origin',
    'Content-Type': type,
    'Content-Length': body.length,
    'Cache-Control': cache,
  })
  response.end(body)
}
