/** Sends requests to the bridge that served the page. What may go wrong is a value; an ended session is reported once. */
import type { Answers, Call } from './answers.ts'
import type { PageClock } from './clock.ts'

/** Why a request has no answer. */
export interface ApiProblem {
  /**
   * `unreachable`: no answer came · `signed_out`: the session is over · `refused`: the bridge refused it (4xx) ·
   * `failed`: the bridge failed (5xx, or an answer that is no JSON).
   */
  kind: 'unreachable' | 'signed_out' | 'refused' | 'failed'
  status: number | null
  /** The bridge's code, e.g. `filter_invalid`. */
  code: string | null
  /** One sentence for people. */
  detail: string
  /** What to do about it, where the bridge says so. */
  hint: string | null
  errors: readonly { field: string; message: string }[]
  /** When to try again, where the bridge says so. */
  retryInMs: number | null
}

/** An answer, parsed and as the text that came, with its `ETag` where it has one; or why there is none. */
export type ApiResult<T> =
  | { ok: true; value: T; text: string; etag?: string }
  | { ok: false; problem: ApiProblem }

/** What a request carries beside its route. */
export interface AskOptions {
  /** Members that the path names go into it, the others into the query; null and undefined are left out. */
  with?: Readonly<Record<string, string | number | boolean | null | undefined>>
  /** Sent as JSON. */
  body?: unknown
  headers?: Readonly<Record<string, string>>
  signal?: AbortSignal
  /** Longest wait; default 30 s. */
  limitMs?: number
}

/** Requests to the bridge. */
export interface ConsoleApi {
  /** Sends one request, e.g. `ask('GET /v1/disclosures/{id}', { with: { id } })`. Never rejects. */
  ask<C extends Call>(call: C, options?: AskOptions): Promise<ApiResult<Answers[C]>>
  /** By how much the bridge's clock is ahead of the browser's, as its answers say; 0 within two seconds. */
  aheadMs(): number
}

const LIMIT_MS = 30_000
/** The header `Date` has whole seconds. */
const CLOCK_GRAIN_MS = 2000

/** Requests of this page; `onSignedOut` is called when the bridge no longer knows the session. */
export function createConsoleApi(clock: PageClock, onSignedOut: () => void): ConsoleApi {
  let aheadMs = 0
  const noteClock = (headers: Headers): void => {
    const theirs = Date.parse(headers.get('date') ?? '')
    if (Number.isNaN(theirs)) return
    const difference = theirs + 500 - clock.now()
    aheadMs = Math.abs(difference) < CLOCK_GRAIN_MS ? 0 : difference
  }
  return {
    aheadMs: () => aheadMs,
    async ask<C extends Call>(call: C, options: AskOptions = {}): Promise<ApiResult<Answers[C]>> {
      try {
        const response = await send(call, options)
        noteClock(response.headers)
        const result = await resultOf<Answers[C]>(response)
        // A token that is refused when it is typed says nothing about the session.
        const isLogin = call.startsWith('POST /v1/sessions')
        if (!result.ok && result.problem.kind === 'signed_out' && !isLogin) onSignedOut()
        return result
      } catch (error) {
        return { ok: false, problem: unreachable(error) }
      }
    },
  }
}

async function send(
  call: string,
  { with: given = {}, body, headers, signal, limitMs }: AskOptions,
): Promise<Response> {
  const [method = 'GET', template = ''] = call.split(' ')
  const names = [...template.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name)
  const path = template.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(`${given[name] ?? ''}`))
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(given)) {
    if (value !== null && value !== undefined && !names.includes(name)) query.set(name, `${value}`)
  }
  const limit = AbortSignal.timeout(limitMs ?? LIMIT_MS)
  return await fetch(query.size === 0 ? path : `${path}?${query}`, {
    method,
    headers: { ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    signal: signal === undefined ? limit : AbortSignal.any([limit, signal]),
    cache: 'no-store',
  })
}

async function resultOf<T>(response: Response): Promise<ApiResult<T>> {
  const { status, headers } = response
  const text = await response.text()
  const value = status === 204 || text === '' ? null : parsed(text)
  if (response.ok && value !== undefined) {
    const etag = headers.get('etag')
    return { ok: true, value: value as T, text, ...(etag !== null && { etag }) }
  }
  const members = (typeof value === 'object' && value !== null ? value : {}) as Record<string, unknown>
  const seconds = Number(headers.get('retry-after') ?? Number.NaN)
  return {
    ok: false,
    problem: {
      kind: status === 401 ? 'signed_out' : status >= 400 && status < 500 ? 'refused' : 'failed',
      status,
      code: textOrNull(members.code),
      detail: textOrNull(members.detail) ?? `The bridge answered with status ${status}.`,
      hint: textOrNull(members.hint),
      errors: Array.isArray(members.errors) ? (members.errors as ApiProblem['errors']) : [],
      retryInMs: Number.isFinite(seconds) ? seconds * 1000 : null,
    },
  }
}

function unreachable(error: unknown): ApiProblem {
  const name = error instanceof Error ? error.name : ''
  const detail =
    name === 'TimeoutError'
      ? 'The bridge did not answer in time.'
      : name === 'AbortError'
        ? 'The request was ended.'
        : 'The bridge does not answer: it is stopped, or the network is cut.'
  return { kind: 'unreachable', status: null, code: null, detail, hint: null, errors: [], retryInMs: null }
}

/** undefined for text that is no JSON. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function textOrNull(value: unknown): string | null {
  return typeof value === 'string' ? value : null
}
