/**
 * Runs `bridge tail`: prints a running bridge's events on stdout, and changes of the connection on stderr.
 */
import { followStream, type ShownMessage } from '../client/follow.ts'
import { STREAM_HELP, streamFlags, streamSelection } from '../client/stream-flags.ts'
import { targetOf } from '../client/target.ts'
import { readFlags, withHelp } from '../terminal/arguments.ts'
import { eventLine } from '../terminal/event-line.ts'
import { painter } from '../terminal/text.ts'

const HELP = `bridge tail: follows the stream of a running bridge (docs/use/streams.md)

${STREAM_HELP}

How:
  --json                one event a line as JSON on stdout, for a pipe
  --url URL             its address; default: BRIDGE_HTTP_HOST and BRIDGE_HTTP_PORT
  --token-file FILE     file with the token; default: BRIDGE_TOKEN, else BRIDGE_ADMIN_TOKEN
  --profile FILE        file with BRIDGE_URL and BRIDGE_TOKEN, read in place of the environment
  --token TOKEN         the token itself, which other users of this machine can see

  bridge tail --tail 20 --preset no-routine
  bridge tail --symbols VOD,BP. --fca-categories FR,IR --json | jq .data.headline`

/** Follows until the signal aborts or the output is closed. Rejects with a BridgeError that retrying cannot fix. */
export const tailCommand = withHelp(HELP, async (args, context) => {
  const values = readFlags('tail', args, streamFlags)
  const { stdout, stderr } = context
  const paint = painter(context.colour)
  const show = (message: ShownMessage): void => {
    if (message.type === 'live') stderr('caught up; what follows is new')
    else if (values.json === true) stdout(message.json)
    else stdout(eventLine(message.json, paint))
  }
  const cursor = await followStream({
    target: targetOf(values, context.env),
    selection: streamSelection(values),
    context,
    signal: AbortSignal.any([context.signal, context.outputGone]),
    onMessage: show,
  })
  if (cursor !== null && !context.outputGone.aborted) stderr(`stopped; --after ${cursor} goes on from here`)
})
