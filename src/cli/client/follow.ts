/**
 * A stream of a running bridge, followed until told to stop: connect, read, come back with the last cursor. Owns what is
 * tried again and how long is waited. Refuses to know what is done with a message.
 */
import { type Backoff, backoffMs } from '../../core/backoff.ts'
import { retryAfterMs } from '../../core/retry-after.ts'
import { BridgeError } from '../../errors.ts'
import { type Chance, type Clock, sleep } from '../../lifecycle/clock.ts'
import { classifyThrown } from '../../upstream/outcome.ts'
import { networkWords } from './network-words.ts'
import { noAnswer, noBridge, type RefusalWords, refusalOf } from './refusal.ts'
import { createSseParser, type SseMessage, type SseParser } from './sse-parser.ts'
import type { Target } from './target.ts'

/** What is followed, and who is told. */
export interface FollowOptions {
  target: Target
  /** Query parameters that every connection asks with: the filter. */
  filter: URLSearchParams
  /** Where to begin: parameters of the first connection only, until a cursor is known. */
  start: URLSearchParams
  clock: Clock
  chance: Chance
  /** Ends the following. */
  signal: AbortSignal
  /** While a promise of it is waited for, nothing more is read. It never rejects but to end the following. */
  onMessage: (message: SseMessage) => void | Promise<void>
  /** Told one line whenever something happens to the connection. */
  say: (line: string) => void
}

const BACKOFF: Backoff = { baseMs: 500, factor: 2, maxMs: 15_000, jitter: 1 }
/** The bridge gives a sign of life every 15 s; one that gives none for so long is not there any more. */
const SILENCE_MS = 45_000
/** Statuses of a bridge that asks to come back later. */
const LATER = [429, 500, 502, 503, 504]
const LONGEST_RETRY_AFTER_MS = 3_600_000
const words: RefusalWords = {
  help: 'bridge tail --help lists the flags, docs/filters.md the fields of a filter.',
  missing: {
    message: 'has no stream of events',
    hint: 'Check --url; the bridge there must have the role feed in BRIDGE_ROLES.',
  },
}

/** How one connection ended, where another one should follow. */
interface Ended {
  why: string
  /** null = back off. */
  waitMs: number | null
}

/** What is known from connection to connection. */
interface Progress {
  /** Resume point; null before the first. */
  cursor: string | null
  /** Whether the bridge has ever answered with a stream. */
  met: boolean
  /** Connections that ended since the last message. */
  failures: number
}

/**
 * Follows the stream until the signal aborts. Returns the last cursor, null where there was none.
 * @throws BridgeError for what trying again does not help: a refusal, an address where no bridge is
 */
export async function followStream(options: FollowOptions): Promise<string | null> {
  const { signal, clock, chance, say } = options
  const progress: Progress = { cursor: null, met: false, failures: 0 }
  while (!signal.aborted) {
    const { why, waitMs } = await connectOnce(options, progress)
    if (signal.aborted) break
    progress.failures += 1
    const delayMs = waitMs ?? backoffMs(progress.failures, BACKOFF, chance)
    const from = progress.cursor === null ? '' : ' from the last cursor'
    say(`${why}; again in ${(delayMs / 1000).toFixed(1)} s${from}`)
    await sleep(clock, delayMs, signal)
  }
  return progress.cursor
}

/** One connection from its request to its end. */
async function connectOnce(options: FollowOptions, progress: Progress): Promise<Ended> {
  const { target, clock, signal } = options
  const stop = new AbortController()
  let silent = false
  let cancel = (): void => {}
  const pause = (): void => cancel()
  const heard = (): void => {
    cancel()
    cancel = clock.after(SILENCE_MS, () => {
      silent = true
      stop.abort()
    })
  }
  heard()
  try {
    const response = await fetch(requestUrl(options, progress), {
      headers: {
        authorization: `Bearer ${target.token}`,
        accept: 'text/event-stream',
        ...(progress.cursor === null ? {} : { 'last-event-id': progress.cursor }),
      },
      redirect: 'manual',
      signal: AbortSignal.any([signal, stop.signal]),
    })
    const later = await judge(response, target, clock.now())
    return later ?? (await readStream(response, { heard, pause }, options, progress))
  } catch (error) {
    if (error instanceof BridgeError) throw error
    if (signal.aborted) return { why: '', waitMs: null }
    if (silent) return { why: `${target.url} is silent`, waitMs: null }
    if (!progress.met) throw noAnswer(error, target)
    const { failure } = classifyThrown(error)
    const { what } = networkWords(failure.kind === 'network' ? failure.message : failure.kind)
    return { why: `${target.url}: ${what}`, waitMs: null }
  } finally {
    cancel()
    stop.abort()
  }
}

function requestUrl({ target, filter, start }: FollowOptions, { cursor }: Progress): string {
  const parameters = new URLSearchParams([...filter, ...(cursor === null ? start : [])])
  return `${target.url}/v1/events${parameters.size === 0 ? '' : `?${parameters}`}`
}

/** Null for a stream; when to come back for an answer that says so; throws for any other. */
async function judge(response: Response, target: Target, nowMs: number): Promise<Ended | null> {
  const { status, headers } = response
  if (status === 200 && headers.get('content-type')?.startsWith('text/event-stream')) return null
  if (LATER.includes(status)) {
    await response.body?.cancel()
    const askedMs = retryAfterMs(headers.get('retry-after'), nowMs)
    const waitMs = askedMs === null ? null : Math.min(askedMs, LONGEST_RETRY_AFTER_MS)
    return { why: `${target.url} answers with status ${status}`, waitMs }
  }
  if (status !== 200) throw refusalOf(status, await response.text(), target, words)
  await response.body?.cancel()
  throw noBridge(target)
}

async function readStream(
  response: Response,
  /** Of the silence: it begins anew; it does not count. */
  { heard, pause }: { heard: () => void; pause: () => void },
  { target, onMessage, say }: FollowOptions,
  progress: Progress,
): Promise<Ended> {
  if (progress.failures > 0) say(`connected again to ${target.url}`)
  else say(`following ${target.url}; Ctrl-C ends it`)
  progress.met = true
  const parser = createSseParser()
  let goingAwayMs: number | null = null
  for await (const piece of bodyText(response)) {
    pause()
    for (const message of parser.feed(piece)) {
      if (message.event === 'going_away') goingAwayMs = reconnectMs(message.data)
      else await onMessage(message)
    }
    heard()
    remember(progress, parser)
  }
  return goingAwayMs === null
    ? { why: `${target.url} ended the stream`, waitMs: null }
    : { why: `${target.url} is stopping`, waitMs: goingAwayMs }
}

function bodyText({ body }: Response): AsyncIterable<string> {
  return body === null ? ReadableStream.from<string>([]) : body.pipeThrough(new TextDecoderStream())
}

/** What was handed on is behind us: the next connection resumes after it. */
function remember(progress: Progress, { lastId }: SseParser): void {
  if (lastId === '' || lastId === progress.cursor) return
  progress.cursor = lastId
  progress.failures = 0
}

function reconnectMs(data: string): number | null {
  try {
    const { reconnectInMs } = JSON.parse(data) as { reconnectInMs?: unknown }
    return typeof reconnectInMs === 'number' && reconnectInMs >= 0
      ? Math.min(reconnectInMs, BACKOFF.maxMs)
      : null
  } catch {
    return null
  }
}
