/**
 * Reads events from a bridge by request: a page at a time, or one event by its id. Meaning of each option:
 * docs/use/pull.md of the bridge.
 */
import type { DisclosureEvent, Filter, GapEvent } from './messages.ts'

/** A bridge to read from. */
export interface ApiOptions {
  /** Its address, e.g. `https://bridge.example`; a path before `/v1` stays. */
  url: string
  /** A token with the scope `events:read`. */
  token: string
  /** Instead of the platform's. */
  fetch?: typeof fetch
}

/** Ends one request; it rejects with the signal's reason. */
interface Abortable {
  signal?: AbortSignal
}

/** Where a page begins, one at most; without one at the earliest event kept. `before` reads backwards. */
type Start =
  | { after?: string; since?: undefined; tail?: undefined; before?: undefined }
  | { since: string; after?: undefined; tail?: undefined; before?: undefined }
  | { tail: number; after?: undefined; since?: undefined; before?: undefined }
  | { before: string; after?: undefined; since?: undefined; tail?: undefined }

/** Which events, from where, and how many. */
export type PullOptions = Start &
  Abortable & {
    filter?: Filter
    /** A cursor or a time at which reading ends. */
    until?: string
    /** Most events, 1 to 1,000; default 100. */
    limit?: number
    /** Seconds that the bridge waits for an event where there is none yet, 0 to 30. */
    wait?: number
  }

/** One page. */
export interface Page {
  data: (DisclosureEvent | GapEvent)[]
  /** Where reading stopped, also where nothing matched: the next `after`, or `before`. */
  cursor: string
  /** Whether the log goes on past it. */
  more: boolean
}

/** An event with what the bridge knows about it. */
export type EventDetails = (DisclosureEvent | GapEvent) & {
  /** Ids of all revisions of the item, oldest first. */
  revisions: readonly string[]
  /** guid of the newest announcement that replaces it. */
  replacedBy: string | null
  topics: readonly string[] | null
  foundBy: string | null
  committedTime: string | null
}

/** The bridge refused a request, or failed. */
export class ApiFailure extends Error {
  readonly status: number
  /** The bridge's code, e.g. `cursor_invalid`; null where the answer has none. */
  readonly code: string | null
  /** What is wrong with which parameter. */
  readonly errors: readonly { field: string; message: string }[]
  /** When to try again, where the bridge says so: 429 and 503. */
  readonly retryInMs: number | null

  constructor(
    message: string,
    { status, code, errors, retryInMs }: Pick<ApiFailure, 'status' | 'code' | 'errors' | 'retryInMs'>,
  ) {
    super(message)
    this.name = 'ApiFailure'
    this.status = status
    this.code = code
    this.errors = errors
    this.retryInMs = retryInMs
  }
}

/** Requests to a bridge. They reject with `ApiFailure`, with what `fetch` throws, or with the reason of their signal. */
export interface Api {
  /** `GET /v1/disclosures`: a page of events. */
  pull(options?: PullOptions): Promise<Page>
  /**
   * `GET /v1/disclosures/{id}`: one event by its id or sequence; null where there is none. Rejects with TypeError for an
   * id that no address can carry: an empty one, `.` and `..`.
   */
  event(id: string, options?: Abortable): Promise<EventDetails | null>
}

/** The bridge's sentence for an event that is not there. A path that is not there has the same status and code. */
const NO_EVENT = 'no event has this id or sequence'

/**
 * Requests to this bridge.
 * @throws TypeError for an address that is neither http nor https
 */
export function createApi({ url, token, fetch: send = fetch }: ApiOptions): Api {
  const base = new URL(url)
  if (!/^https?:$/.test(base.protocol)) throw new TypeError(`${url} is not an http or https address`)
  const get = (path: string, signal: AbortSignal | undefined): Promise<Response> =>
    send(`${base.origin}${base.pathname.replace(/\/+$/, '')}${path}`, {
      headers: { authorization: `Bearer ${token}` },
      ...(signal !== undefined && { signal }),
    })
  return {
    async pull({ signal, filter, ...rest } = {}) {
      const given = { ...rest, filter: filter === undefined ? undefined : JSON.stringify(filter) }
      const parameters = new URLSearchParams()
      for (const [name, value] of Object.entries(given)) {
        if (value !== undefined) parameters.set(name, `${value}`)
      }
      const response = await get(`/v1/disclosures?${parameters}`, signal)
      if (!response.ok) throw await failureOf(response)
      return (await response.json()) as Page
    },
    async event(id, { signal } = {}) {
      if (/^\.{0,2}$/.test(id)) throw new TypeError(`an event has an id or a sequence, not '${id}'`)
      const response = await get(`/v1/disclosures/${encodeURIComponent(id)}`, signal)
      if (response.ok) return (await response.json()) as EventDetails
      const failure = await failureOf(response)
      if (failure.code === 'not_found' && failure.message === NO_EVENT) return null
      throw failure
    },
  }
}

async function failureOf(response: Response): Promise<ApiFailure> {
  const { status } = response
  const problem = problemOf(await response.text())
  const seconds = Number(response.headers.get('retry-after') ?? Number.NaN)
  return new ApiFailure(problem?.detail ?? `the bridge answers with status ${status}`, {
    status,
    code: problem?.code ?? null,
    errors: problem?.errors ?? [],
    retryInMs: Number.isFinite(seconds) ? seconds * 1000 : null,
  })
}

/** The members of a problem answer; null for anything else, such as a proxy's page. */
function problemOf(text: string): (Pick<ApiFailure, 'errors'> & { code: string; detail: string }) | null {
  try {
    const { code, detail, errors } = JSON.parse(text) as Record<string, unknown>
    if (typeof code !== 'string' || typeof detail !== 'string') return null
    return { code, detail, errors: Array.isArray(errors) ? errors : [] }
  } catch {
    return null
  }
}
