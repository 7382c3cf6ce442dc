/**
 * Follows a running bridge's event stream through the published client (`clients/typescript`) and reports each change
 * of the connection in one line. It ends when the caller's signal aborts.
 */
import { connect, type Message } from '../../../clients/typescript/src/stream.ts'
import { StreamFailure } from '../../../clients/typescript/src/verdict.ts'
import { BridgeError } from '../../errors.ts'
import type { CommandContext } from '../terminal/context.ts'
import { networkWordsOf } from './network-words.ts'
import { noAnswer, noBridge, type RefusalWords, responseError } from './refusal.ts'
import { type StreamSelection, streamFlags } from './stream-flags.ts'
import type { BridgeTarget } from './target.ts'

/** A message that a command shows or forwards: an event, or `live`, after which events are new. */
export type ShownMessage = Exclude<Message, { type: 'connected' | 'disconnected' | 'heartbeat' }>

/** What is followed. */
export interface FollowOptions {
  target: BridgeTarget
  /** The filter and the start. */
  selection: StreamSelection
  context: CommandContext
  /** Ends the following. */
  signal: AbortSignal
  /** Said once the first connection stands; absent: that the stream is followed, and how to end that. */
  begin?: string
  /** The next message is read when its promise resolves; a rejection ends the following. */
  onMessage: (message: ShownMessage) => void | Promise<void>
}

/** Statuses of a bridge that may serve the stream later. */
const LATER = [429, 500, 502, 503, 504]
const words: RefusalWords = {
  help: 'bridge tail --help lists the flags, docs/use/filters.md the fields of a filter.',
  missing: {
    message: 'has no stream of events',
    hint: 'Check --url; the bridge there must have the role feed in BRIDGE_ROLES.',
  },
  flags: Object.keys(streamFlags),
}

/**
 * Follows the stream until the signal aborts. Returns the last cursor, null where there was none.
 * @throws BridgeError for what retrying cannot fix: a refusal, an address where no bridge is
 */
export async function followStream(options: FollowOptions): Promise<string | null> {
  const { target, selection, signal, onMessage } = options
  const { begin = `following ${target.url}; Ctrl-C ends it` } = options
  const { clock, chance, stderr } = options.context
  const { url, token } = target
  const stream = connect({ url, token, ...selection.subscription, signal, clock, chance })
  let hasConnected = false
  try {
    for await (const message of stream) {
      switch (message.type) {
        case 'connected':
          stderr(hasConnected ? `connected again to ${url}` : begin)
          hasConnected = true
          break
        case 'disconnected':
          stderr(await lineOf(message, { ...options, hasConnected, cursor: stream.cursor }))
          break
        case 'heartbeat':
          break
        default:
          await onMessage(message)
      }
    }
  } catch (error) {
    if (signal.aborted) return stream.cursor
    if (!(error instanceof StreamFailure)) throw error
    await explainRefusal(options, stream.cursor)
    throw new BridgeError('failed', `${url} ended the stream: ${error.message}`, { hint: words.help })
  }
  return stream.cursor
}

interface Disconnected extends FollowOptions {
  hasConnected: boolean
  /** Resume point; null before the first event. */
  cursor: string | null
}

/** @throws BridgeError where the reason is one that retrying cannot fix */
async function lineOf(
  { cause, why, retryInMs }: Message & { type: 'disconnected' },
  options: Disconnected,
): Promise<string> {
  const { url } = options.target
  const from = options.cursor === null ? '' : ' from the last cursor'
  if (retryInMs === null)
    return `${url}: more events wait than fit in memory; reading goes on${from} after them`
  const again = `; again in ${(retryInMs / 1000).toFixed(1)} s${from}`
  switch (cause) {
    case 'going_away':
      return `${url} is stopping${again}`
    case 'silent':
      return `${url} is silent${again}`
    case 'unreachable':
      return `${await explainUnreachable(options)}${again}`
    default:
      return `${url} ended the stream (${why})${again}`
  }
}

/**
 * Why no WebSocket was opened, which a WebSocket client cannot see: asks for the same stream over plain HTTP.
 * @throws BridgeError where that is refused, and where nothing answers and the bridge has never answered
 */
async function explainUnreachable(options: Disconnected): Promise<string> {
  const { target, signal, hasConnected, cursor } = options
  try {
    const status = await explainRefusal(options, cursor)
    return status === 200
      ? `${target.url} serves no WebSocket (a proxy must pass the header Upgrade)`
      : `${target.url} answers with status ${status}`
  } catch (error) {
    if (error instanceof BridgeError) throw error
    if (!hasConnected && !signal.aborted) throw noAnswer(error, target)
    return `${target.url}: ${networkWordsOf(error).what}`
  }
}

/**
 * Asks for the same stream over plain HTTP, whose refusals name each wrong parameter. Returns the status of an answer that
 * is no refusal: 200, or one of `LATER`.
 * @throws BridgeError for a refusal; what `fetch` throws where nothing answers
 */
async function explainRefusal(
  { target, selection: { filter, start }, signal }: FollowOptions,
  cursor: string | null,
): Promise<number> {
  const place = cursor === null ? start : new URLSearchParams({ after: cursor })
  const parameters = new URLSearchParams([...filter, ...place])
  const response = await fetch(`${target.url}/v1/events?${parameters}`, {
    headers: { authorization: `Bearer ${target.token}`, accept: 'text/event-stream' },
    redirect: 'manual',
    signal,
  })
  const { status, headers } = response
  if (status !== 200 && !LATER.includes(status)) {
    throw responseError(status, await response.text(), target, words)
  }
  await response.body?.cancel()
  if (status === 200 && !headers.get('content-type')?.startsWith('text/event-stream')) throw noBridge(target)
  return status
}
