/**
 * Sends one HTTP GET to upstream, limited in time and bytes, with the API key unless the data is public. Redirects are not
 * followed, so that the key goes nowhere else.
 */
import { Agent, fetch, type Response } from 'undici'
import type { Clock } from '../lifecycle/clock.ts'
import type { Failure, Outcome } from './outcome.ts'
import { classifyStatus, classifyThrown } from './outcome.ts'
import { type ReportedQuota, reportedQuotas } from './reported-quota.ts'

/** Largest body that is read unless the caller allows more: it is parsed in one piece, which takes some 50 ms. */
const LARGEST_BODY_BYTES = 4 * 1024 * 1024
const ABORTED: Failure = { kind: 'network', message: 'aborted' }
/** Largest error body that is read; it has only a message. */
const LARGEST_ERROR_BYTES = 64 * 1024
/** Bytes and chunks that are gathered before they are decoded: a body may come byte by byte. */
const BLOCK_BYTES = 64 * 1024
const BLOCK_CHUNKS = 4096

/** What a transport is built from. */
export interface TransportOptions {
  /** Base address, ending in `/v2`. */
  url: string
  /** Gives the key of the next request; it may change. */
  key: string | (() => string)
  /** From the first byte sent to the last byte read. */
  timeoutMs: number
  clock: Clock
}

/** What a request may differ in. */
export interface RequestOptions {
  /** Leaves the key out, for what upstream serves to everybody. */
  keyless?: boolean
  /** Largest body that is read; 4 MiB by default. */
  largestBytes?: number
}

/** Sends requests to one upstream. */
export type Transport = ReturnType<typeof createTransport>

/** A transport with its own connection pool. */
export function createTransport({ url, key: given, timeoutMs, clock }: TransportOptions) {
  const agent = new Agent({
    // Explicit, because NODE_TLS_REJECT_UNAUTHORIZED=0 would otherwise send the key to any server.
    connect: { timeout: timeoutMs, rejectUnauthorized: true },
    headersTimeout: 0,
    bodyTimeout: 0,
    connections: 4,
  })
  return {
    /**
     * GETs `path` (below the base, with its query). Never throws for anything that upstream does.
     * When `signal` aborts before the status is known, or inside a good response, the outcome is `network` with the
     * message `aborted`.
     */
    async get(path: string, signal: AbortSignal, options: RequestOptions = {}): Promise<Outcome<string>> {
      const { keyless = false, largestBytes = LARGEST_BODY_BYTES } = options
      const key = typeof given === 'string' ? given : given()
      const startedMs = clock.now()
      if (signal.aborted) return { startedMs, endedMs: startedMs, serverMs: null, sent: false, ...ABORTED }
      const timeUp = new AbortController()
      const cancelTimer = clock.after(timeoutMs, () => timeUp.abort())
      let phase: 'headers' | 'body' = 'headers'
      let serverMs: number | null = null
      let reported: ReportedQuota[] = []
      const ended = (sent: boolean, result: { kind: 'ok'; value: string } | Failure): Outcome<string> => ({
        startedMs,
        endedMs: clock.now(),
        serverMs,
        sent,
        ...(reported.length > 0 && { reported }),
        ...result,
      })
      try {
        const response = await fetch(`${url}${path}`, {
          dispatcher: agent,
          headers: { accept: 'application/json', ...(keyless ? {} : { 'x-api-key': key }) },
          redirect: 'manual',
          signal: AbortSignal.any([signal, timeUp.signal]),
        })
        phase = 'body'
        serverMs = dateHeaderMs(response)
        reported = reportedQuotas((name) => response.headers.get(name))
        return ended(true, await readAnswer(response, key, largestBytes))
      } catch (error) {
        if (timeUp.signal.aborted) return ended(true, { kind: 'timeout', phase })
        if (signal.aborted) return ended(true, ABORTED)
        const { failure, sent } = classifyThrown(error)
        return ended(sent, failure)
      } finally {
        cancelTimer()
      }
    },
    close: (): Promise<void> => agent.destroy(),
  }
}

async function readAnswer(
  response: Response,
  key: string,
  largestBytes: number,
): Promise<{ kind: 'ok'; value: string } | Failure> {
  if (response.status !== 200) {
    // The status is enough: an error whose body hangs or breaks is still that error.
    const message = await readBody(response, LARGEST_ERROR_BYTES).catch(() => null)
    // Its message is shown to operators and clients, so it must not repeat the key.
    const words = key === '' ? message : message?.replaceAll(key, '[key]')
    return classifyStatus(response.status, response.headers.get('retry-after'), words ?? '')
  }
  const body = await readBody(response, largestBytes)
  return body === null
    ? { kind: 'invalid', reason: `the body is larger than ${largestBytes} bytes` }
    : { kind: 'ok', value: body }
}

/** The body as text without its byte order mark, or null when it is larger than the cap; the rest is then not read. */
async function readBody(response: Response, capBytes: number): Promise<string | null> {
  if (response.body === null) return ''
  const decoder = new TextDecoder()
  let text = ''
  let bytes = 0
  let block: Uint8Array[] = []
  let blockBytes = 0
  for await (const chunk of response.body as AsyncIterable<Uint8Array>) {
    bytes += chunk.byteLength
    if (bytes > capBytes) return null
    block.push(chunk)
    blockBytes += chunk.byteLength
    if (blockBytes < BLOCK_BYTES && block.length < BLOCK_CHUNKS) continue
    text += decoder.decode(Buffer.concat(block), { stream: true })
    block = []
    blockBytes = 0
  }
  return text + decoder.decode(Buffer.concat(block))
}

function dateHeaderMs(response: Response): number | null {
  const ms = Date.parse(response.headers.get('date') ?? '')
  return Number.isNaN(ms) ? null : ms
}
