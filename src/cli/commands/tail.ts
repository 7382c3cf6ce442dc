/**
 * Runs `bridge tail`: prints a running bridge's events on stdout, and changes of the connection on stderr.
 */
import { followStream, type ShownMessage } from '../client/follow.ts'
import { STREAM_HELP, streamFlags, streamSelection } from '../client/stream-flags.ts'
import { TARGET_HELP, targetOf } from '../client/target.ts'
import { command } from '../terminal/command.ts'
import { eventLine } from '../terminal/event-line.ts'
import { painter } from '../terminal/text.ts'

const HELP = `${STREAM_HELP}

How:
  --json                one event a line as JSON on stdout, for a pipe
${TARGET_HELP}

  bridge tail --tail 20 --preset no-routine
  bridge tail --symbols VOD,BP. --fca-categories FR,IR --json | jq .data.headline`

const SPEC = {
  name: 'tail',
  does: 'follows the stream of a running bridge (docs/use/streams.md)',
  help: HELP,
  flags: streamFlags,
} as const

/** Follows until the signal aborts or the output is closed. Rejects with a BridgeError that retrying cannot fix. */
export const tailCommand = command(SPEC, async ({ values }, context) => {
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
