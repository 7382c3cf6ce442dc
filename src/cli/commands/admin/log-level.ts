/** Runs `bridge admin log-level`: changes the level of a node's log for a time. */
import { BridgeError } from '../../../errors.ts'
import { fieldsOf, printableText, requesterOf } from '../../client/lists.ts'
import { requestFlags, TARGET_HELP } from '../../client/target.ts'
import { command } from '../../terminal/command.ts'
import { londonTimeOf } from '../../terminal/london-time.ts'
import { adminWords } from './words.ts'

const NAME = 'admin log-level'
const flags = { ...requestFlags, for: { type: 'string' } } as const
const DAY_SECONDS = 86_400
const UNIT_SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600 }

const words = { ...adminWords(NAME, Object.keys(flags)), words: ['LEVEL'] }

/** Changes the level. Rejects if no bridge answers or the token may not do this. */
export const logLevel = command(
  {
    name: NAME,
    words: ['LEVEL'],
    does: 'logs more or less on the node that is asked, for a time',
    help: `  LEVEL is error, warn, info or debug.
  --for TIME            for how long, e.g. 90s, 15m, 2h; default 15m; at most a day
  --json                the response as JSON on stdout
${TARGET_HELP}

  bridge admin log-level debug --for 5m`,
    flags,
  },
  async ({ values: { for: time, json, ...target }, words: [level = ''] }, context) => {
    const body = { level, ...(time !== undefined && { seconds: secondsOf(time) }) }
    const answer = await requesterOf(
      target,
      words,
      context,
    )({ method: 'POST', path: '/v1/admin/log-level', body })
    if (json === true) context.stdout(JSON.stringify(answer))
    const { node, level: now, usual, until } = fieldsOf(answer)
    const end = londonTimeOf(until) ?? printableText(until)
    context.stderr(
      `${printableText(node)} logs ${printableText(now)} until ${end}, then ${printableText(usual)} again`,
    )
  },
)

/** @throws BridgeError `usage` */
function secondsOf(text: string): number {
  const [, count, unit = ''] = /^(\d{1,5})([smh])$/.exec(text) ?? []
  const seconds = Number(count ?? 0) * (UNIT_SECONDS[unit] ?? 1)
  if (seconds > 0 && seconds <= DAY_SECONDS) return seconds
  throw new BridgeError('usage', '--for must be a time such as 90s, 15m or 2h, at most 24h', {
    hint: `bridge ${NAME} --help lists the flags.`,
  })
}
