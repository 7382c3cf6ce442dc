/** Runs `bridge admin`: acts on a running installation as a whole. Any of its nodes takes the request. */
import { fieldsOf, printableText, requesterOf } from '../../client/lists.ts'
import { requestFlags, TARGET_HELP } from '../../client/target.ts'
import { command, noun } from '../../terminal/command.ts'
import { londonTimeOf } from '../../terminal/london-time.ts'
import { logLevel } from './log-level.ts'
import { pollNow, reconcile, retryGap, stepDown } from './orders.ts'
import { adminWords } from './words.ts'

const pauseFlags = { ...requestFlags, reason: { type: 'string' } } as const

const words = adminWords('admin', Object.keys(pauseFlags))

const pause = command(
  {
    name: 'admin pause',
    does: 'pauses polling on all nodes until it is resumed, also over restarts',
    help: `The leader finishes what it has begun and sends nothing more to upstream.
  --reason TEXT         why, for those who see the pause
  --json                the response as JSON on stdout
${TARGET_HELP}

  bridge admin pause --reason 'upstream asked us to wait'`,
    flags: pauseFlags,
  },
  async ({ values: { reason, json, ...target } }, context) => {
    const send = requesterOf(target, words, context)
    const answer = await send({ method: 'POST', path: '/v1/admin/polling/pause', body: { reason } })
    if (json === true) context.stdout(JSON.stringify(answer))
    const { since, reason: kept } = fieldsOf(answer)
    const why = kept === null ? '' : `: ${printableText(kept)}`
    context.stderr(`polling is paused since ${londonTimeOf(since) ?? printableText(since)}${why}`)
  },
)

const resume = command(
  {
    name: 'admin resume',
    does: 'resumes polling; what was published meanwhile is read now',
    help: `  --json                the response as JSON on stdout\n${TARGET_HELP}`,
    flags: requestFlags,
  },
  async ({ values: { json, ...target } }, context) => {
    const send = requesterOf(target, words, context)
    const answer = await send({ method: 'POST', path: '/v1/admin/polling/resume' })
    if (json === true) context.stdout(JSON.stringify(answer))
    context.stderr('polling goes on')
  },
)

/** Runs the verb. */
export const adminCommand = noun({
  name: 'admin',
  does: 'acts on a running installation as a whole (docs/run/admin.md)',
  verbs: {
    pause,
    resume,
    'poll-now': pollNow,
    'retry-gap': retryGap,
    reconcile,
    'step-down': stepDown,
    'log-level': logLevel,
  },
})
