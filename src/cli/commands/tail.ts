/**
 * `bridge tail`: a running bridge's stream in the terminal. Owns its flags and what goes to stdout and stderr. Refuses to
 * judge a filter: the bridge does, and its words are passed on.
 */
import { readFileSync } from 'node:fs'
import { filterParameters } from '../client/filter-flags.ts'
import { followStream } from '../client/follow.ts'
import type { SseMessage } from '../client/sse-parser.ts'
import { STREAM_HELP, startParameters, streamFlags, textOf } from '../client/stream-flags.ts'
import { targetOf } from '../client/target.ts'
import { asksForHelp, readFlags } from '../terminal/arguments.ts'
import type { CommandContext } from '../terminal/context.ts'
import { eventLine } from '../terminal/event-line.ts'
import { painter } from '../terminal/text.ts'

const flags = {
  json: { type: 'boolean' },
  url: { type: 'string' },
  token: { type: 'string' },
} as const

const HELP = `bridge tail: follows the stream of a running bridge (docs/streams.md)

${STREAM_HELP}

How:
  --json                one event a line as JSON on stdout, for a pipe
  --url URL             its address; default: BRIDGE_HTTP_HOST and BRIDGE_HTTP_PORT
  --token TOKEN         default BRIDGE_ADMIN_TOKEN, which other users of this machine cannot see

  bridge tail --tail 20 --preset no-routine
  bridge tail --symbols VOD,BP. --fca-categories FR,IR --json | jq .data.headline`

/** Follows until the signal aborts or nobody reads the output. Rejects with what trying again does not help. */
export async function tailCommand(args: string[], context: CommandContext): Promise<void> {
  if (asksForHelp(args)) {
    context.stdout(HELP)
    return
  }
  const values = readFlags('tail', args, { ...streamFlags, ...flags })
  const { stdout, stderr, clock, chance, env } = context
  const readFile = (path: string): string => readFileSync(path, 'utf8')
  const paint = painter(context.colour)
  const show = (message: SseMessage): void => {
    if (message.event === 'live') stderr('caught up; what follows is new')
    // Line ends in JSON stand between its parts only: without them the event is the same.
    else if (values.json === true) stdout(message.data.replaceAll('\n', ' '))
    else stdout(eventLine(message.data, paint))
  }
  const cursor = await followStream({
    target: targetOf({ url: textOf(values.url), token: textOf(values.token) }, env, readFile),
    filter: filterParameters(values),
    start: startParameters(values),
    clock,
    chance,
    signal: AbortSignal.any([context.signal, context.outputGone]),
    onMessage: show,
    say: stderr,
  })
  if (cursor !== null && !context.outputGone.aborted) stderr(`stopped; --after ${cursor} goes on from here`)
}
