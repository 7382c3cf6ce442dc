/**
 * Runs `bridge webhooks attempts` and `deliveries`: lists the attempts and the state of deliveries to an endpoint.
 */
import { BridgeError } from '../../errors.ts'
import { attemptOutcomes } from '../../obs/metrics.ts'
import {
  endpointWords,
  fieldsOf,
  namedEndpoint,
  printableText,
  type ResponseFields,
} from '../client/endpoint-request.ts'
import { entriesOf, requestFlags } from '../client/verbs.ts'
import { readFlagsAndWords } from '../terminal/arguments.ts'
import type { CommandContext } from '../terminal/context.ts'
import { counted, type Paint, painter, type Tone } from '../terminal/text.ts'

/** For the help of `bridge webhooks`. */
export const WEBHOOK_LISTS_HELP = `For attempts and deliveries:
  --failed              failed attempts
  --outcome LIST        attempts with these outcomes, e.g. timeout,dns
  --state LIST          deliveries in these states: pending, delivered, dead
  --limit N             only the newest N; default 100`

const DEFAULT_LIMIT = 100
const MOST = 1_000_000

/** The delivery attempts to an endpoint, newest first. */
export function listAttempts(args: string[], context: CommandContext): Promise<void> {
  const flags = { ...requestFlags, failed: { type: 'boolean' }, outcome: { type: 'string' } } as const
  const { values, words, limit } = readList('attempts', args, flags)
  if (values.failed === true && values.outcome !== undefined) {
    throw new BridgeError('usage', '--failed and --outcome do not go together', {
      hint: '--failed selects every outcome except ok.',
    })
  }
  const failed = attemptOutcomes.filter((outcome) => outcome !== 'ok').join(',')
  const query = queryOf('outcome', values.failed === true ? failed : values.outcome)
  const none = 'no such attempts in the last week'
  return list({ what: `attempts${query}`, limit, values, words, line: attemptLine, none }, context)
}

/** The state of the deliveries to an endpoint, newest event first. */
export function listDeliveries(args: string[], context: CommandContext): Promise<void> {
  const { values, words, limit } = readList('deliveries', args, {
    ...requestFlags,
    state: { type: 'string' },
  } as const)
  const none = 'no such deliveries with an attempt in the last week'
  const what = `deliveries${queryOf('state', values.state)}`
  return list({ what, limit, values, words, line: deliveryLine, none }, context)
}

interface Wanted {
  /** The path below the endpoint's, with its query. */
  what: string
  limit: number
  values: Parameters<typeof namedEndpoint>[0]
  words: readonly string[]
  line: (entry: ResponseFields, paint: Paint) => string
  /** Printed for an empty list. */
  none: string
}

async function list(wanted: Wanted, context: CommandContext): Promise<void> {
  const { what, limit, values, words, line, none } = wanted
  const { path, json, send } = namedEndpoint(values, words, endpointWords, context)
  const paint = painter(context.colour)
  let count = 0
  for await (const entry of entriesOf(send, `${path}/${what}`, context, limit)) {
    context.stdout(json ? JSON.stringify(entry) : line(fieldsOf(entry), paint))
    count += 1
    if (count === limit) break
  }
  if (count === 0) context.stderr(none)
}

/** @throws BridgeError `usage` */
function readList<const F extends typeof requestFlags>(verb: string, args: string[], flags: F) {
  const all = { ...flags, limit: { type: 'string' } } as const
  const { values, words } = readFlagsAndWords(`webhooks ${verb}`, args, all, ['ID'])
  const { limit = String(DEFAULT_LIMIT) } = values as { limit?: string }
  const count = /^\d{1,7}$/.test(limit) ? Number(limit) : 0
  if (count < 1 || count > MOST) {
    throw new BridgeError('usage', `--limit must be a whole number from 1 to ${MOST}`, {
      hint: 'bridge webhooks --help lists the flags.',
    })
  }
  return { values, words, limit: count }
}

function queryOf(parameter: string, value: string | undefined): string {
  return value === undefined ? '' : `?${parameter}=${encodeURIComponent(value)}`
}

function attemptLine(entry: ResponseFields, paint: Paint): string {
  const { at, outcome, status, durationMs, phase, attempt, eventId, response } = entry
  const isOk = outcome === 'ok'
  const parts = [
    printableText(at),
    paint(isOk ? 'plain' : 'strong', printableText(outcome).padEnd(12)),
    orDash(status).padEnd(3),
    `${printableText(durationMs)} ms`.padStart(8),
    printableText(phase).padEnd(7),
    `try ${printableText(attempt)}`,
    printableText(eventId),
  ]
  const body = typeof response === 'string' && response !== '' ? [paint('soft', printableText(response))] : []
  return [...parts, ...body].join('  ')
}

const TONES: Readonly<Record<string, Tone>> = { dead: 'alarm', pending: 'strong' }

function deliveryLine(entry: ResponseFields, paint: Paint): string {
  const { sequence, state, attempts, nextAttempt, lastStatus, eventId } = entry
  const next = nextAttempt === null ? [] : [`next ${printableText(nextAttempt)}`]
  return [
    printableText(sequence).padStart(10),
    paint(TONES[printableText(state)] ?? 'plain', printableText(state).padEnd(9)),
    counted(Number(attempts), 'try', 'tries').padEnd(7),
    orDash(lastStatus).padEnd(3),
    printableText(eventId),
    ...next,
  ].join('  ')
}

function orDash(value: unknown): string {
  return value === null || value === undefined ? '–' : printableText(value)
}
