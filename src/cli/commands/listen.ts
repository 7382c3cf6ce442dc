/**
 * Runs `bridge listen`: posts a running bridge's events as signed webhooks to a local receiver that is under
 * development. It registers no endpoint at the bridge.
 */
import type { KeyObject } from 'node:crypto'
import { parseFilterQuery } from '../../core/filter/filter-query.ts'
import { wantsGaps } from '../../core/filter/webhook-opt-in.ts'
import { newSecret, signingKey } from '../../core/signature.ts'
import { BridgeError } from '../../errors.ts'
import { newId } from '../../registry/ids.ts'
import { followStream, type ShownMessage } from '../client/follow.ts'
import { createForwarder, type ForwardAttempt, type ForwardedEvent } from '../client/forward.ts'
import { STREAM_HELP, sinceLine, streamFlags, streamSelection } from '../client/stream-flags.ts'
import { TARGET_HELP, targetOf } from '../client/target.ts'
import { command } from '../terminal/command.ts'
import { eventLine } from '../terminal/event-line.ts'
import { harmless, type Paint, painter } from '../terminal/text.ts'

const flags = { ...streamFlags, forward: { type: 'string' }, secret: { type: 'string' } } as const

const HELP = `A failed delivery is tried four times within about a minute, then given up; a Retry-After
of up to a minute is waited for.

  --forward URL         your receiver, e.g. http://localhost:9000/hook; required
  --secret whsec_…      signs the requests; default: a new one, shown at the start

${STREAM_HELP}
  gaps come only where --types names gap, as with a real endpoint

How:
  --json                one attempt a line as JSON on stdout
${TARGET_HELP}

  bridge listen --forward http://localhost:9000/hook --tail 5 --preset no-routine`

const SPEC = {
  name: 'listen',
  does: "re-posts a running bridge's events to your receiver as signed webhooks\n(docs/use/webhooks-receivers.md)",
  help: HELP,
  flags,
} as const

/** Forwards until the signal aborts or the output is closed. Rejects with a BridgeError that retrying cannot fix. */
export const listenCommand = command(SPEC, async ({ values }, context) => {
  const { stdout, stderr, clock, chance, env } = context
  const url = receiverUrl(values.forward)
  const secret = values.secret ?? newSecret()
  const key = keyOf(secret)
  const endpointId = newId('ep', clock.now())
  const selection = streamSelection(values)
  const target = targetOf(values, env)
  const paint = painter(context.colour)
  const signal = AbortSignal.any([context.signal, context.outputGone])
  const counts = { delivered: 0, givenUp: 0 }
  const onAttempt = (attempt: ForwardAttempt): void => {
    if (attempt.outcome === 'ok') counts.delivered += 1
    else if (attempt.nextInMs === null) counts.givenUp += 1
    stdout(values.json === true ? JSON.stringify(record(attempt)) : attemptLine(attempt, paint))
  }
  const forwarder = createForwarder({ url, endpointId, key, clock, chance, signal, onAttempt })
  stderr(`forwarding to ${url} as endpoint ${endpointId}`)
  stderr(`secret ${secret}`)
  const since = sinceLine(values)
  if (since !== null) stderr(since)
  await followStream({
    target,
    selection,
    context,
    signal,
    onMessage(message) {
      if (message.type === 'live') return
      const event = forwardedOf(message)
      if (event === null) return stderr('skipped an event without sequence')
      // The bridge has accepted the filter, or no message would have come.
      if (message.type === 'gap' && !wantsGaps(parseFilterQuery(selection.filter) ?? {})) return
      return forwarder.take(event)
    },
  })
  await forwarder.drained()
  if (!context.outputGone.aborted) {
    stderr(`stopped; ${counts.delivered} delivered, ${counts.givenUp} given up`)
  }
})

/** @throws BridgeError `usage` for text that is not an http or https address */
function receiverUrl(text: string | undefined): string {
  const url = URL.parse(text ?? '')
  if (url !== null && /^https?:$/.test(url.protocol) && url.username === '' && url.password === '') {
    return url.href
  }
  const what = text === undefined ? 'is missing' : 'must be an http or https address without credentials'
  throw new BridgeError('usage', `--forward ${what}`, {
    hint: 'Give the address of your receiver, for example --forward http://localhost:9000/hook',
  })
}

/** @throws BridgeError `usage` for text that is not a signing secret */
function keyOf(secret: string): KeyObject {
  const key = signingKey(secret)
  if (key !== null) return key
  throw new BridgeError('usage', '--secret is not a secret of Standard Webhooks', {
    hint: 'It is whsec_ followed by the base64 of 24 to 64 bytes; leave it out to get a new one.',
  })
}

/** The event of a message; null where it has no sequence. */
function forwardedOf({ event, json }: Exclude<ShownMessage, { type: 'live' }>): ForwardedEvent | null {
  const { id, sequence } = event
  return typeof sequence === 'string' ? { id, sequence, json } : null
}

function record({ event, reason: _, ...attempt }: ForwardAttempt) {
  return { eventId: event.id, sequence: event.sequence, ...attempt }
}

function attemptLine(attempt: ForwardAttempt, paint: Paint): string {
  const { status, reason, durationMs, nextInMs, outcome, event } = attempt
  const what = `${harmless(`${status ?? reason}`)}  ${durationMs} ms`
  const shown = eventLine(event.json, paint)
  if (outcome === 'ok') return `${what}  ${shown}`
  return `${paint('alarm', `${what}  ${nextWords(nextInMs, outcome)}`)}  ${shown}`
}

function nextWords(nextInMs: number | null, outcome: string): string {
  if (nextInMs !== null) return `again in ${(nextInMs / 1000).toFixed(1)} s`
  return outcome === 'gone' ? 'given up: a real endpoint would be disabled now' : 'given up'
}
