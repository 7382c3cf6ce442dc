/**
 * `bridge webhooks attempts` and `deliveries`: what became of the deliveries to an endpoint. Owns their flags and lines.
 * Refuses to judge words and ids: the bridge does.
 */
import { BridgeError } from '../../errors.ts'
import { attemptOutcomes } from '../../obs/metrics.ts'
import { askerFlags, entriesOf } from '../client/asker.ts'
import { askedEndpoint, endpointWords, type Fields, fieldsOf, textOf } from '../client/endpoint-asker.ts'
import { readFlagsAndWords } from '../terminal/arguments.ts'
import type { CommandContext } from '../terminal/context.ts'
import { type Paint, painter, type Tone } from '../terminal/text.ts'

/** For the help of `bridge webhooks`. */
export const WEBHOOK_LISTS_HELP = `For attempts and deliveries:
  --failed              attempts that were not taken
  --outcome LIST        attempts that ended so, e.g. timeout,dns
  --state LIST          deliveries that stand so: pending, delivered, dead
  --limit N             most of them, the newest; default 100`

const DEFAULT_LIMIT = 100
const MOST = 1_000_000

/** Attempts to deliver to an endpoint, the newest first. */
export function listAttempts(args: string[], context: CommandContext): Promise<void> {
  const flags = { ...askerFlags, failed: { type: 'boolean' }, outcome: { type: 'string' } } as const
  const { values, words, limit } = readList(args, flags)
  if (values.failed === true && values.outcome !== undefined) {
    throw new BridgeError('usage', '--failed and --outcome do not go together', {
      hint: '--failed is every outcome but ok.',
    })
  }
  const failed = attemptOutcomes.filter((outcome) => outcome !== 'ok').join(',')
  const query = queryOf('outcome', values.failed === true ? failed : values.outcome)
  const none = 'there is no such attempt in the last week'
  return list({ what: `attempts${query}`, limit, values, words, line: attemptLine, none }, context)
}

/** How the deliveries to an endpoint stand, the newest event first. */
export function listDeliveries(args: string[], context: CommandContext): Promise<void> {
  const { values, words, limit } = readList(args, { ...askerFlags, state: { type: 'string' } } as const)
  const none = 'there is no such delivery that was tried in the last week'
  const what = `deliveries${queryOf('state', values.state)}`
  return list({ what, limit, values, words, line: deliveryLine, none }, context)
}

interface Wanted {
  /** The path below the endpoint's, with its query. */
  what: string
  limit: number
  values: Parameters<typeof askedEndpoint>[0]
  words: readonly string[]
  line: (entry: Fields, paint: Paint) => string
  /** Said where there is nothing. */
  none: string
}

async function list(wanted: Wanted, context: CommandContext): Promise<void> {
  const { what, limit, values, words, line, none } = wanted
  const { path, json, ask } = askedEndpoint(values, words, endpointWords, context)
  const paint = painter(context.colour)
  let count = 0
  for await (const entry of entriesOf(ask, `${path}/${what}`, context, limit)) {
    context.stdout(json ? JSON.stringify(entry) : line(fieldsOf(entry), paint))
    count += 1
    if (count === limit) break
  }
  if (count === 0) context.stderr(none)
}

/** @throws BridgeError `usage` */
function readList<const F extends typeof askerFlags>(args: string[], flags: F) {
  const { values, words } = readFlagsAndWords('webhooks', args, { ...flags, limit: { type: 'string' } }, [
    'ID',
  ])
  const { limit = String(DEFAULT_LIMIT) } = values as { limit?: string }
  const count = /^\d{1,7}$/.test(limit) ? Number(limit) : 0
  if (count < 1 || count > MOST) {
    throw new BridgeError('usage', `--limit takes a whole number from 1 to ${MOST}`, {
      hint: 'bridge webhooks --help lists the flags.',
    })
  }
  return { values, words, limit: count }
}

function queryOf(parameter: string, value: string | undefined): string {
  return value === undefined ? '' : `?${parameter}=${encodeURIComponent(value)}`
}

function attemptLine(entry: Fields, paint: Paint): string {
  const { at, outcome, status, durationMs, phase, attempt, eventId, response } = entry
  const isOk = outcome === 'ok'
  const parts = [
    textOf(at),
    paint(isOk ? 'plain' : 'strong', textOf(outcome).padEnd(12)),
    orDash(status).padEnd(3),
    `${textOf(durationMs)} ms`.padStart(8),
    textOf(phase).padEnd(7),
    `try ${textOf(attempt)}`,
    textOf(eventId),
  ]
  const said = typeof response === 'string' && response !== '' ? [paint('soft', textOf(response))] : []
  return [...parts, ...said].join('  ')
}

const TONES: Readonly<Record<string, Tone>> = { dead: 'alarm', pending: 'strong' }

function deliveryLine(entry: Fields, paint: Paint): string {
  const { sequence, state, attempts, nextAttempt, lastStatus, eventId } = entry
  const next = nextAttempt === null ? [] : [`next ${textOf(nextAttempt)}`]
  return [
    textOf(sequence).padStart(10),
    paint(TONES[textOf(state)] ?? 'plain', textOf(state).padEnd(9)),
    `${textOf(attempts)} tries`.padEnd(7),
    orDash(lastStatus).padEnd(3),
    textOf(eventId),
    ...next,
  ].join('  ')
}

function orDash(value: unknown): string {
  return value === null || value === undefined ? '–' : textOf(value)
}
