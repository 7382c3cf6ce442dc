/**
 * Counts this process's requests to one upstream through undici's diagnostics channels and records the pages that
 * arrived completely. Client and server are not changed.
 */
import { subscribe, unsubscribe } from 'node:diagnostics_channel'

/** A list response with status 200 that arrived completely and could be parsed. */
export interface WholePage {
  /** Times by `now` of the request and of the complete response. */
  askedMs: number
  atMs: number
  /** Query of the request. */
  query: URLSearchParams
  items: readonly unknown[]
}

export interface WireWatch {
  /** Grows with everything that moves: a request made, headers, a chunk of a body, an end. */
  readonly moves: number
  /** Requests made. */
  readonly requests: number
  /** Time by `now` of the last request. */
  readonly lastRequestMs: number
  /** Called back at each request that is made. */
  onRequest: () => void
  /** Called back with each page. */
  onPage: (page: WholePage) => void
  [Symbol.dispose](): void
}

interface Message {
  request: { origin?: unknown; path: string }
  response?: { statusCode: number; headers: readonly Uint8Array[] }
  chunk?: Uint8Array
}

const CHANNELS = ['create', 'headers', 'bodyChunkReceived', 'trailers', 'error'] as const

/** Watches requests to `origin`. `now` gives the time that is noted. */
export function watchWire(origin: string, now: () => number): WireWatch {
  const bodies = new Map<object, { askedMs: number; status: number; chunks: Uint8Array[] }>()
  const watch = { moves: 0, requests: 0, lastRequestMs: 0, onRequest: () => {}, onPage: (_: WholePage) => {} }
  const note = (channel: (typeof CHANNELS)[number], message: Message): void => {
    const { request, response, chunk } = message
    if (String(request.origin) !== origin) return
    watch.moves += 1
    if (channel === 'create') {
      watch.requests += 1
      watch.lastRequestMs = now()
      bodies.set(request, { askedMs: now(), status: 0, chunks: [] })
      watch.onRequest()
    } else if (channel === 'headers') {
      const body = bodies.get(request)
      if (body !== undefined && response !== undefined && !isEncoded(response.headers))
        body.status = response.statusCode
    } else if (channel === 'bodyChunkReceived') bodies.get(request)?.chunks.push(Buffer.from(chunk ?? []))
    else {
      const body = bodies.get(request)
      bodies.delete(request)
      if (channel !== 'trailers' || body?.status !== 200) return
      const items = itemsOf(Buffer.concat(body.chunks).toString())
      const query = new URLSearchParams(request.path.split('?')[1] ?? '')
      if (items !== null) watch.onPage({ askedMs: body.askedMs, atMs: now(), query, items })
    }
  }
  const listeners = CHANNELS.map((channel) => ({
    name: `undici:request:${channel}`,
    listen: (message: unknown) => note(channel, message as Message),
  }))
  for (const { name, listen } of listeners) subscribe(name, listen)
  return Object.assign(watch, {
    [Symbol.dispose]() {
      for (const { name, listen } of listeners) unsubscribe(name, listen)
    },
  })
}

/** True for a body that is not the text it looks like: the sandbox encodes only what it spoils. */
function isEncoded(headers: readonly Uint8Array[]): boolean {
  return headers.some((name) => Buffer.from(name).toString().toLowerCase() === 'content-encoding')
}

/** The list in the body of a response, or null if there is none. */
function itemsOf(body: string): unknown[] | null {
  try {
    const { data } = JSON.parse(body) as { data?: unknown }
    return Array.isArray(data) ? data : null
  } catch {
    return null
  }
}
