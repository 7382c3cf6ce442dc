/**
 * Runs `bridge tail`: prints a running bridge's events on stdout, and changes of the connection on stderr.
 */
import { followStream, type ShownMessage } from '../client/follow.ts'
import { STREAM_HELP, sinceLine, streamFlags, streamSelection } from '../client/stream-flags.ts'
import { TARGET_HELP, targetOf } from '../client/target.ts'
import { command } from '../terminal/command.ts'
import { EVENT_HEADER, eventLine } from '../terminal/event-line.ts'
import { painter } from '../terminal/text.ts'

/** Events that `--no-follow` prints without another start. */
const LAST = '10'

const flags = { ...streamFlags, 'no-follow': { type: 'boolean' } } as const

const HELP = `${STREAM_HELP}

How:
  --no-follow           ends with the newest event; without a start it prints the last ${LAST}
  --json                one event a line as JSON on stdout, for a pipe
${TARGET_HELP}

  bridge tail --tail 20 --preset no-routine
  bridge tail --no-follow --since 2026-07-07T07:00:00+01:00
  bridge tail --symbols VOD,BP. --fca-categories FR,IR --json | jq .data.headline`

const SPEC = {
  name: 'tail',
  does: 'follows the stream of a running bridge (docs/use/streams.md)',
  help: HELP,
  flags,
} as const

/**
 * Follows until the signal aborts, the output is closed, or with `--no-follow` the newest event is printed. Rejects with a
 * BridgeError that retrying cannot fix.
 */
export const tailCommand = command(SPEC, async ({ values }, context) => {
  const { stdout, stderr } = context
  const paint = painter(context.colour)
  const isOver = new AbortController()
  const endsLive = values['no-follow'] === true
  let isFirst = true
  const show = (message: ShownMessage): void => {
    if (message.type === 'live') {
      if (endsLive) isOver.abort()
      else stderr('caught up; what follows is new')
      return
    }
    if (values.json === true) return stdout(message.json)
    if (isFirst) stderr(paint('soft', EVENT_HEADER))
    isFirst = false
    stdout(eventLine(message.json, paint))
  }
  const since = sinceLine(values)
  if (since !== null) stderr(since)
  const hasStart = [values.after, values.since, values.tail].some((given) => given !== undefined)
  const target = targetOf(values, context.env)
  const cursor = await followStream({
    target,
    ...(endsLive && { begin: `reading what ${target.url} has` }),
    selection: streamSelection(endsLive && !hasStart ? { ...values, tail: LAST } : values),
    context,
    signal: AbortSignal.any([context.signal, context.outputGone, isOver.signal]),
    onMessage: show,
  })
  if (cursor !== null && !context.outputGone.aborted) stderr(`stopped; --after ${cursor} goes on from here`)
})
