/**
 * Runs `bridge tail`: prints a running bridge's event stream, events on stdout and reports on stderr.
 */
import { readFileSync } from 'node:fs'
import { followStream, type ShownMessage } from '../client/follow.ts'
import { flagText, STREAM_HELP, streamFlags, streamSelection } from '../client/stream-flags.ts'
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

const HELP = `bridge tail: follows the stream of a running bridge (docs/use/streams.md)

${STREAM_HELP}

How:
  --json                one event a line as JSON on stdout, for a pipe
  --url URL             its address; default: BRIDGE_HTTP_HOST and BRIDGE_HTTP_PORT
  --token TOKEN         default BRIDGE_ADMIN_TOKEN, which other users of this machine cannot see

  bridge tail --tail 20 --preset no-routine
  bridge tail --symbols VOD,BP. --fca-categories FR,IR --json | jq .data.headline`

/** Follows until the signal aborts or the output is closed. Rejects with a BridgeError that retrying cannot fix. */
export async function tailCommand(args: string[], context: CommandContext): Promise<void> {
  if (asksForHelp(args)) {
    context.stdout(HELP)
    return
  }
  const values = readFlags('tail', args, { ...streamFlags, ...flags })
  const { stdout, stderr, clock, chance, env } = context
  const readFile = (path: string): string => readFileSync(path, 'utf8')
  const paint = painter(context.colour)
  const show = (message: ShownMessage): void => {
    if (message.type === 'live') stderr('caught up; what follows is new')
    else if (values.json === true) stdout(message.json)
    else stdout(eventLine(message.json, paint))
  }
  const cursor = await followStream({
    target: targetOf({ url: flagText(values.url), token: flagText(values.token) }, env, readFile),
    selection: streamSelection(values),
    clock,
    chance,
    signal: AbortSignal.any([context.signal, context.outputGone]),
    onMessage: show,
    report: stderr,
  })
  if (cursor !== null && !context.outputGone.aborted) stderr(`stopped; --after ${cursor} goes on from here`)
}
