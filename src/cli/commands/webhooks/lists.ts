/**
 * Runs `bridge webhooks attempts` and `deliveries`: lists the delivery attempts to an endpoint, and the state of its
 * deliveries.
 */
import { attemptOutcomes } from '../../../core/attempt-end.ts'
import { BridgeError } from '../../../errors.ts'
import {
  column,
  LIMIT_HELP,
  limitOf,
  printableText,
  printList,
  type ResponseFields,
} from '../../client/lists.ts'
import type { Column } from '../../terminal/table.ts'
import type { Tone } from '../../terminal/text.ts'
import { endpointVerb } from './verb.ts'

const attemptColumns: readonly Column<ResponseFields>[] = [
  column('AT', 'at', 24),
  {
    title: 'OUTCOME',
    width: 12,
    cell: ({ outcome }) => printableText(outcome),
    tone: ({ outcome }) => (outcome === 'ok' ? 'plain' : 'strong'),
  },
  column('STATUS', 'status', 6),
  { title: 'TOOK', width: 8, isNumber: true, cell: ({ durationMs }) => `${printableText(durationMs)} ms` },
  column('PHASE', 'phase', 7),
  { ...column('TRY', 'attempt', 3), isNumber: true },
  column('EVENT', 'eventId', 36),
  { ...column('RESPONSE', 'response'), tone: () => 'soft' },
]

/** The delivery attempts to an endpoint, newest first. */
export const listAttempts = endpointVerb(
  {
    name: 'attempts',
    does: 'delivery attempts of the last week, newest first',
    help: `  --failed              failed attempts
  --outcome LIST        attempts with these outcomes, e.g. timeout,dns
${LIMIT_HELP}`,
    flags: { limit: { type: 'string' }, failed: { type: 'boolean' }, outcome: { type: 'string' } },
  },
  async ({ values, json, path, send }, context) => {
    if (values.failed === true && values.outcome !== undefined) {
      throw new BridgeError('usage', '--failed and --outcome do not go together', {
        hint: '--failed selects every outcome except ok.',
      })
    }
    const failed = attemptOutcomes.filter((outcome) => outcome !== 'ok').join(',')
    const query = queryOf('outcome', values.failed === true ? failed : values.outcome)
    const none = 'no such attempts in the last week'
    const output = { json, columns: attemptColumns, none, most: limitOf('webhooks attempts', values.limit) }
    await printList(send, `${path}/attempts${query}`, output, context)
  },
)

const TONES: Readonly<Record<string, Tone>> = { dead: 'alarm', pending: 'strong' }

const deliveryColumns: readonly Column<ResponseFields>[] = [
  { ...column('SEQUENCE', 'sequence', 10), isNumber: true },
  {
    title: 'STATE',
    width: 9,
    cell: ({ state }) => printableText(state),
    tone: ({ state }) => TONES[printableText(state)] ?? 'plain',
  },
  { ...column('TRIES', 'attempts', 5), isNumber: true },
  column('STATUS', 'lastStatus', 6),
  column('NEXT TRY', 'nextAttempt', 24),
  column('EVENT', 'eventId'),
]

/** The state of the deliveries to an endpoint, newest event first. */
export const listDeliveries = endpointVerb(
  {
    name: 'deliveries',
    does: 'state of each delivery, newest event first',
    help: `  --state LIST          deliveries in these states: pending, delivered, dead
${LIMIT_HELP}`,
    flags: { limit: { type: 'string' }, state: { type: 'string' } },
  },
  async ({ values, json, path, send }, context) => {
    const none = 'no such deliveries with an attempt in the last week'
    const output = {
      json,
      columns: deliveryColumns,
      none,
      most: limitOf('webhooks deliveries', values.limit),
    }
    await printList(send, `${path}/deliveries${queryOf('state', values.state)}`, output, context)
  },
)

function queryOf(parameter: string, value: string | undefined): string {
  return value === undefined ? '' : `?${parameter}=${encodeURIComponent(value)}`
}
