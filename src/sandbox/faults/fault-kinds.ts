/**
 * Defines every kind of fault that the sandbox can show: which requests it affects, and how it replaces or corrupts the
 * response. No timer of a fault outlives the client's socket.
 */
import type { ServerResponse } from 'node:http'
import { gzipSync } from 'node:zlib'
import { z } from 'zod'
import { errorBody, unauthorised } from '../../api/mirror/refusal.ts'
import type { Clock } from '../../lifecycle/clock.ts'

/** Default delay between two bytes of a `drip` body. */
const DRIP_MS = 100
/** Bytes that `wrong-length` announces in Content-Length but does not send. */
const MISSING_BYTES = 100
/** Default warning about a filter that the plan does not include. */
const DEFAULT_WARNING = 'a filter was ignored because the plan does not include it'

const options = {
  /** Number of requests it applies to; 1 if neither `count` nor `forMs` is set. */
  count: z.int().min(1).optional(),
  /** How long it stays active, real milliseconds. */
  forMs: z.int().min(1).optional(),
  /** Only requests whose path and query contain this text. */
  path: z.string().min(1).optional(),
  /** Value of the Retry-After header, any text; without it the header is absent. */
  retryAfter: z
    .string()
    .regex(/^[\t\x20-\x7e]*$/, 'must be printable ASCII')
    .optional(),
  /** Of `status`: the response status; default 500. */
  status: z.int().min(400).max(599).optional(),
  /** Of `drip`: real milliseconds between bytes; default 100. */
  intervalMs: z.int().min(1).optional(),
  /** Of `ignore-filters` and `warnings`: the entry in `warnings`; only `warnings` has a default. */
  warning: z.string().min(1).optional(),
}

type FaultOptions = z.infer<z.ZodObject<typeof options>>

/** The properties of a request that faults match on. */
export interface FaultRequest {
  /** Path with query. */
  url: string
  params: URLSearchParams
  /** True for the list operation. */
  isList: boolean
  /** True for every operation that requires a key. */
  needsKey: boolean
}

/** A response of the API that a fault corrupts: status and headers are set already, `body` is not sent yet. */
interface Corruptible {
  response: ServerResponse
  body: string
  fault: FaultOptions
  params: URLSearchParams
  clock: Clock
}

interface FaultBehaviour {
  /** Which requests can show the fault; absent = all. */
  meets?: (request: FaultRequest) => boolean
  /** Answers instead of the API. */
  answer?: (response: ServerResponse, fault: FaultOptions) => void
  /** Sends the API's body, corrupted; absent = unchanged. */
  send?: (corruptible: Corruptible) => void
}

/** What a client receives: docs/use/sandbox.md. Faults of list paging meet only requests that can show them. */
const behaviours = {
  'throttle-429': { answer: (response, fault) => answerTooManyRequests(response, fault) },
  'quota-429': { answer: (response, fault) => answerTooManyRequests(response, fault) },
  status: {
    answer(response, { status = 500, retryAfter }) {
      setRetryAfter(response, retryAfter)
      answer(response, status, errorBody('the sandbox was told to fail'))
    },
  },
  'revoke-key': {
    meets: ({ needsKey }) => needsKey,
    answer: (response) => answer(response, 401, unauthorised().body),
  },
  'hang-before': { answer: () => {} },
  'hang-inside': { send: (corruptible) => sendHalf(corruptible) },
  drip: { send: (corruptible) => drip(corruptible) },
  truncate: { send: ({ response, body }) => response.end(half(body)) },
  'html-200': {
    answer: (response) =>
      answer(response, 200, '<!doctype html><title>Maintenance</title><h1>Back soon</h1>', 'text/html'),
  },
  'empty-body': { send: ({ response }) => response.end() },
  'no-content': { answer: (response) => response.writeHead(204).end() },
  redirect: { answer: (response) => response.writeHead(302, { location: '/maintenance' }).end() },
  reset: { answer: (response) => response.socket?.resetAndDestroy() },
  'reset-inside': {
    send: (corruptible) => sendHalf(corruptible, () => corruptible.response.socket?.resetAndDestroy()),
  },
  'wrong-length': {
    send({ response, body }) {
      const length = Buffer.byteLength(body) + MISSING_BYTES
      response.setHeader('connection', 'close').setHeader('content-length', length).end(body)
    },
  },
  'broken-chunk': { send: ({ response, body }) => response.socket?.end(withBrokenChunk(half(body))) },
  'gzip-rubbish': {
    send: ({ response, body }) => response.setHeader('content-encoding', 'gzip').end(body),
  },
  'gzip-cut': {
    send({ response, body }) {
      const packed = gzipSync(body)
      response.setHeader('content-encoding', 'gzip').end(packed.subarray(0, Math.floor(packed.length / 2)))
    },
  },
  'refuse-cursor': {
    meets: ({ isList, params }) => isList && params.has('sinceCursor'),
    answer: (response) =>
      answer(response, 400, errorBody('sinceCursor is too old', 'List without a cursor to get a new one.')),
  },
  'repeat-page': editList(
    (list, { params }) => {
      if (params.has('pageCursor')) list.meta.paging.nextCursor = params.get('pageCursor')
    },
    (params) => !params.has('sinceCursor') && !params.has('pageNumber'),
  ),
  'stuck-cursor': editList(
    (list, { params }) => {
      list.meta.paging.latestCursor = params.get('sinceCursor')
    },
    (params) => params.has('sinceCursor'),
  ),
  'null-data': editList((list) => {
    list.data = null
  }),
  'duplicate-items': editList((list) => {
    list.data = list.data?.flatMap((item) => [item, item]) ?? null
  }),
  'ignore-filters': editList((list, { fault }) => {
    if (fault.warning !== undefined) list.warnings = [...(list.warnings ?? []), fault.warning]
  }),
  warnings: editList((list, { fault }) => {
    list.warnings = [...(list.warnings ?? []), fault.warning ?? DEFAULT_WARNING]
  }),
} as const satisfies Record<string, FaultBehaviour>

/** Kind of a fault. */
export type FaultKind = keyof typeof behaviours

/** Every kind of fault; docs/use/sandbox.md describes what a client receives. */
export const faultKinds = Object.keys(behaviours) as FaultKind[]

/** Schema of the settings with which a fault is switched on. */
export const faultSetting = z.strictObject({ kind: z.enum(faultKinds), ...options })

/** Settings with which a fault is switched on. */
export type FaultSetting = z.infer<typeof faultSetting>

/** True if the fault applies to the request. */
export function meets({ kind, path }: FaultSetting, request: FaultRequest): boolean {
  const behaviour: FaultBehaviour = behaviours[kind]
  return (path === undefined || request.url.includes(path)) && behaviour.meets?.(request) !== false
}

/** True for a refusal that upstream would not count as a unit. */
export function isUncounted({ kind, status }: FaultSetting): boolean {
  return kind === 'quota-429' || kind === 'revoke-key' || (kind === 'status' && status === 401)
}

/**
 * Answers instead of the API, for faults that replace the whole response.
 * @returns false when the API must answer: the fault then corrupts its body or ignores its filters
 */
export function answerInPlace(fault: FaultSetting, response: ServerResponse): boolean {
  const behaviour: FaultBehaviour = behaviours[fault.kind]
  behaviour.answer?.(response, fault)
  return behaviour.answer !== undefined
}

/** Sends the API's body, corrupted as the fault requires. Status and headers are set already. */
export function sendCorrupted(kind: FaultKind, corruptible: Corruptible): void {
  const behaviour: FaultBehaviour = behaviours[kind]
  behaviour.send?.(corruptible)
}

/** Answers 429; upstream gives no machine-readable reason. */
export function answerTooManyRequests(response: ServerResponse, { retryAfter }: FaultOptions = {}): void {
  setRetryAfter(response, retryAfter)
  answer(response, 429, errorBody('too many requests'))
}

function setRetryAfter(response: ServerResponse, retryAfter: string | undefined): void {
  if (retryAfter !== undefined) response.setHeader('retry-after', retryAfter)
}

function answer(response: ServerResponse, status: number, body: string, type = 'application/json'): void {
  response.statusCode = status
  response.setHeader('content-type', `${type}; charset=utf-8`)
  response.end(body)
}

function half(body: string): string {
  return body.slice(0, Math.floor(body.length / 2))
}

/** Announces the whole body and sends half of it. */
function sendHalf({ response, body }: Corruptible, afterwards?: () => void): void {
  response.setHeader('content-length', Buffer.byteLength(body))
  response.write(half(body), afterwards)
}

/** Returns a valid head and first chunk, then a chunk whose length is not a number. */
function withBrokenChunk(text: string): string {
  const head = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n'
  return `${head}${Buffer.byteLength(text).toString(16)}\r\n${text}\r\nnot a length\r\n`
}

interface ListBody {
  data: unknown[] | null
  meta: { paging: Record<string, unknown> }
  warnings?: unknown[]
}

/** Edits the body of a list before it is sent, for requests whose parameters can show it; a refusal is sent unchanged. */
function editList(
  edit: (list: ListBody, corruptible: Corruptible) => void,
  shows: (params: URLSearchParams) => boolean = () => true,
): FaultBehaviour {
  return {
    meets: ({ isList, params }) => isList && shows(params),
    send(corruptible) {
      const list: ListBody | { meta?: undefined } = JSON.parse(corruptible.body)
      if (list.meta !== undefined) edit(list, corruptible)
      corruptible.response.end(JSON.stringify(list))
    },
  }
}

/** Sends one byte at a time until the body ends or the client disconnects. */
function drip({ response, body, fault, clock }: Corruptible): void {
  const bytes = Buffer.from(body)
  response.setHeader('content-length', bytes.length)
  let sent = 0
  let cancel = (): void => {}
  const next = (): void => {
    response.write(bytes.subarray(sent, sent + 1))
    sent += 1
    if (sent < bytes.length) cancel = clock.after(fault.intervalMs ?? DRIP_MS, next)
    else response.end()
  }
  response.on('close', () => cancel())
  next()
}
