/** Runs `bridge status`: prints what a running bridge says of its upstream, quota, log, replica and gaps. */
import { fieldsOf, printableText, type ResponseFields, requesterOf } from '../client/lists.ts'
import type { RefusalWords } from '../client/refusal.ts'
import { requestFlags, TARGET_HELP } from '../client/target.ts'
import { command } from '../terminal/command.ts'
import { londonTimeOf } from '../terminal/london-time.ts'
import { counted, type Paint, painter, type Tone } from '../terminal/text.ts'

const words: RefusalWords = {
  help: 'bridge status --help lists the flags.',
  missing: {
    message: 'has no status',
    hint: 'Check --url; the bridge there must have the role api in BRIDGE_ROLES.',
  },
}

/** What a node does not know. */
const UNKNOWN = 'unknown'
/** Open gaps that are shown one by one. */
const MOST_GAPS = 5

/** A line: its name, and what is said. */
type Row = readonly [name: string, text: string, tone?: Tone]

/** Prints the status. Rejects if no bridge answers or the request fails. */
export const statusCommand = command(
  {
    name: 'status',
    does: 'the state of a running bridge: upstream, quota, log, replica, gaps',
    help: `Times are London time with its offset; what a node does not know is ${UNKNOWN}.
  --json                the response as JSON on stdout
${TARGET_HELP}`,
    flags: requestFlags,
  },
  async ({ values: { json, ...target } }, context) => {
    const answer = await requesterOf(target, words, context)({ method: 'GET', path: '/v1/status' })
    if (json === true) {
      context.stdout(JSON.stringify(answer))
      return
    }
    for (const row of rowsOf(fieldsOf(answer))) context.stdout(lineOf(row, painter(context.colour)))
  },
)

function lineOf([name, text, tone = 'plain']: Row, paint: Paint): string {
  return `${name.padEnd(14)}${paint(tone, text)}`
}

function rowsOf(status: ResponseFields): Row[] {
  const [leader, upstream, quota, log, copy] = (['leader', 'upstream', 'quota', 'log', 'copy'] as const).map(
    (name) => fieldsOf(status[name]),
  )
  return [
    leaderRow(leader ?? {}),
    ...pauseRows(fieldsOf(status.polling)),
    ...upstreamRows(upstream ?? {}, fieldsOf(status.polling).paused === true),
    ...quotaRows(quota ?? {}),
    logRow(log ?? {}),
    copyRow(copy ?? {}),
    ['completeness', known(status.completeness)],
    ...gapRows(status.gaps),
    ['roles', Array.isArray(status.roles) ? status.roles.map(printableText).join(', ') : UNKNOWN],
    ['as of', time(status.asOf)],
  ]
}

function leaderRow({ id, since, self }: ResponseFields): Row {
  if (id === null || id === undefined) return ['leader', 'none known to this node', 'strong']
  const which = self === true ? ' (this node)' : ''
  return ['leader', `${printableText(id)}${which} since ${time(since)}`]
}

/** Only while polling is paused; who and why only for the operator. */
function pauseRows({ paused, since, by, reason }: ResponseFields): Row[] {
  if (paused !== true) return []
  const who = typeof by === 'string' ? ` by ${printableText(by)}` : ''
  const why = typeof reason === 'string' ? `: ${printableText(reason)}` : ''
  return [['polling', `PAUSED since ${time(since)}${who}${why}`, 'alarm']]
}

function upstreamRows({ state, lastGoodPoll, nextPoll, phase }: ResponseFields, isPaused: boolean): Row[] {
  const tone = state === 'ok' || state === 'waiting' ? 'plain' : 'alarm'
  return [
    ['upstream', `${known(state)}, market phase ${known(phase)}`, tone],
    ['last poll', time(lastGoodPoll)],
    ['next poll', isPaused ? 'none while polling is paused' : time(nextPoll)],
  ]
}

function quotaRows({ limit, used, remaining, reset, forecast }: ResponseFields): Row[] {
  const share = typeof forecast === 'number' ? `${Math.round(forecast * 100)} % of what is left` : UNKNOWN
  return [
    [
      'quota',
      `${known(used)} of ${known(limit)} units used, ${known(remaining)} left`,
      remaining === 0 ? 'alarm' : 'plain',
    ],
    ['planned use', `${share}; units come back ${time(reset)}`],
  ]
}

function logRow({ kind, available, epoch, oldest, latest }: ResponseFields): Row {
  const text = `${known(kind)}, epoch ${known(epoch)}, events ${known(oldest)} to ${known(latest)}`
  if (available !== false) return ['log', text]
  return [
    'log',
    `NOT AVAILABLE, nothing is polled: see log.unavailable and log.reader_unavailable in the node's log; ${text}`,
    'alarm',
  ]
}

function copyRow({ sequence, lagEvents, lagSeconds, filled }: ResponseFields): Row {
  const at = `up to event ${known(sequence)}`
  if (typeof filled === 'number' && filled < 1)
    return ['replica', `${at}, being filled: ${Math.floor(filled * 100)} % done`, 'strong']
  if (lagEvents === null && lagSeconds === null)
    return ['replica', `${at}; nothing was heard of the log yet`, 'strong']
  if (lagEvents === null)
    return ['replica', `${at}; the log has not answered for ${known(lagSeconds)} s`, 'strong']
  const lag = Number(lagEvents ?? 0)
  if (lag === 0) return ['replica', `${at}, no lag`]
  return ['replica', `${at}, ${counted(lag, 'event')} behind for ${known(lagSeconds)} s`, 'strong']
}

function gapRows(gaps: unknown): Row[] {
  if (!Array.isArray(gaps)) return [['open gaps', UNKNOWN]]
  if (gaps.length === 0) return [['open gaps', 'none']]
  const shown = gaps.slice(0, MOST_GAPS).map(fieldsOf)
  const more = gaps.length - shown.length
  return [
    ['open gaps', gaps.length.toString(), 'alarm'],
    ...shown.map(
      ({ id, from, to, cause }): Row => ['', `${known(id)}: ${time(from)} to ${time(to)}, ${known(cause)}`],
    ),
    ...(more === 0 ? [] : ([['', `and ${more} more: bridge status --json`]] satisfies Row[])),
  ]
}

function time(value: unknown): string {
  return londonTimeOf(value) ?? known(value)
}

function known(value: unknown): string {
  return printableText(value) || UNKNOWN
}
