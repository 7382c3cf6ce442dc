/**
 * Runs `bridge webhooks attempts`, `deliveries`, `replays` and `why`: lists the delivery attempts to an endpoint, the state of
 * its deliveries, its replays, and what became of one event at each endpoint.
 */
import { attemptOutcomes } from '../../../core/attempt-end.ts'
import { BridgeError } from '../../../errors.ts'
import {
  column,
  fieldsOf,
  LIMIT_HELP,
  limitOf,
  printableText,
  printList,
  type ResponseFields,
  requesterOf,
  timeColumn,
} from '../../client/lists.ts'
import { requestFlags } from '../../client/target.ts'
import { command } from '../../terminal/command.ts'
import type { Column } from '../../terminal/table.ts'
import type { Tone } from '../../terminal/text.ts'
import { endpointVerb, eventWords, REQUEST_HELP } from './verb.ts'

const attemptColumns: readonly Column<ResponseFields>[] = [
  timeColumn('AT', 'at'),
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
  --event ID            attempts to deliver this event
${LIMIT_HELP}`,
    flags: {
      limit: { type: 'string' },
      failed: { type: 'boolean' },
      outcome: { type: 'string' },
      event: { type: 'string' },
    },
  },
  async ({ values, json, path, send }, context) => {
    if (values.failed === true && values.outcome !== undefined) {
      throw new BridgeError('usage', '--failed and --outcome do not go together', {
        hint: '--failed selects every outcome except ok.',
      })
    }
    const failed = attemptOutcomes.filter((outcome) => outcome !== 'ok').join(',')
    const query = queryOf({
      outcome: values.failed === true ? failed : values.outcome,
      eventId: values.event,
    })
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
  timeColumn('NEXT TRY', 'nextAttempt'),
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
    await printList(send, `${path}/deliveries${queryOf({ state: values.state })}`, output, context)
  },
)

const replayColumns: readonly Column<ResponseFields>[] = [
  column('REPLAY', 'id', 24),
  column('STATE', 'state', 7),
  timeColumn('REQUESTED', 'createdAt'),
  column('OF', 'only', 4),
  { ...column('EVENTS', 'count', 7), isNumber: true },
  {
    title: 'DONE',
    isNumber: true,
    cell: ({ progress }) => (typeof progress === 'number' ? `${Math.floor(progress * 100)} %` : ''),
  },
]

/** The replays of an endpoint that are not over. */
export const listReplays = endpointVerb(
  { name: 'replays', does: 'its replays that are not over, with their progress', flags: {} },
  async ({ json, path, send }, context) => {
    await printList(
      send,
      `${path}/replays`,
      { json, columns: replayColumns, none: 'no replay is under way' },
      context,
    )
  },
)

const whyColumns: readonly Column<ResponseFields>[] = [
  column('ENDPOINT', 'endpointId', 24),
  ...deliveryColumns.slice(1, 4),
  { title: 'REASON', width: 12, cell: ({ why }) => printableText(fieldsOf(why).reason) },
  {
    title: 'WHY',
    cell: ({ why }) => {
      const { members, detail } = fieldsOf(why)
      return Array.isArray(members) && members.length > 0
        ? printableText(members.join(', '))
        : printableText(detail)
    },
  },
]

/** What became of one event at each endpoint. */
export const listReasons = command(
  {
    name: 'webhooks why',
    words: ['EVENT'],
    does: 'what became of an event at each endpoint, and why one did not get it',
    help: REQUEST_HELP,
    flags: requestFlags,
  },
  async ({ values: { json, ...target }, words: [event = ''] }, context) => {
    const send = requesterOf(target, eventWords, context)
    const output = { json, columns: whyColumns, none: 'no endpoints yet' }
    await printList(send, `/v1/disclosures/${encodeURIComponent(event)}/deliveries`, output, context)
  },
)

/** The parameters that have a value, as the query of a path. */
function queryOf(parameters: Readonly<Record<string, string | undefined>>): string {
  const given = Object.entries(parameters).flatMap(([name, value]) =>
    value === undefined ? [] : `${name}=${encodeURIComponent(value)}`,
  )
  return given.length === 0 ? '' : `?${given.join('&')}`
}
