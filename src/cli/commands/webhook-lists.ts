/**
 * Runs `bridge webhooks attempts` and `deliveries`: lists the delivery attempts to an endpoint, and the state of its
 * deliveries.
 */
import { attemptOutcomes } from '../../core/attempt-end.ts'
import { BridgeError } from '../../errors.ts'
import { readOne } from '../client/endpoint-request.ts'
import { requestFlags } from '../client/target.ts'
import { printableText, printList, type ResponseFields } from '../client/verbs.ts'
import type { CliCommand } from '../terminal/arguments.ts'
import { counted, type Paint, painter, type Tone } from '../terminal/text.ts'

/** For the help of `bridge webhooks`. */
export const WEBHOOK_LISTS_HELP = `For attempts and deliveries:
  --failed              failed attempts
  --outcome LIST        attempts with these outcomes, e.g. timeout,dns
  --state LIST          deliveries in these states: pending, delivered, dead
  --limit N             only the newest N; default 100`

const listFlags = { ...requestFlags, limit: { type: 'string' } } as const
const DEFAULT_LIMIT = 100
const MOST = 1_000_000

/** The delivery attempts to an endpoint, newest first. */
export const listAttempts: CliCommand = (args, context) => {
  const flags = { ...listFlags, failed: { type: 'boolean' }, outcome: { type: 'string' } } as const
  const { values, json, path, send } = readOne('attempts', args, context, flags)
  if (values.failed === true && values.outcome !== undefined) {
    throw new BridgeError('usage', '--failed and --outcome do not go together', {
      hint: '--failed selects every outcome except ok.',
    })
  }
  const failed = attemptOutcomes.filter((outcome) => outcome !== 'ok').join(',')
  const query = queryOf('outcome', values.failed === true ? failed : values.outcome)
  const paint = painter(context.colour)
  const line = (entry: ResponseFields): string => attemptLine(entry, paint)
  const none = 'no such attempts in the last week'
  return printList(send, `${path}/attempts${query}`, { json, line, none, most: mostOf(values) }, context)
}

/** The state of the deliveries to an endpoint, newest event first. */
export const listDeliveries: CliCommand = (args, context) => {
  const flags = { ...listFlags, state: { type: 'string' } } as const
  const { values, json, path, send } = readOne('deliveries', args, context, flags)
  const paint = painter(context.colour)
  const line = (entry: ResponseFields): string => deliveryLine(entry, paint)
  const none = 'no such deliveries with an attempt in the last week'
  const query = queryOf('state', values.state)
  return printList(send, `${path}/deliveries${query}`, { json, line, none, most: mostOf(values) }, context)
}

/** @throws BridgeError `usage` */
function mostOf({ limit = DEFAULT_LIMIT.toString() }: { limit?: string }): number {
  const count = /^\d{1,7}$/.test(limit) ? Number(limit) : 0
  if (count >= 1 && count <= MOST) return count
  throw new BridgeError('usage', `--limit must be a whole number from 1 to ${MOST}`, {
    hint: 'bridge webhooks --help lists the flags.',
  })
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
  return printableText(value) || '–'
}
