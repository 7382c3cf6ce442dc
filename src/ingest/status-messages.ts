/** Describes the messages of the status topic (contract §4) for the AsyncAPI document. */
import { phases } from '../core/calendar/calendar.ts'
import type { Bindings, ChannelMessage } from '../http/channel.ts'
import { daySchema } from '../http/schemas/day-schema.ts'
import { type JsonSchema, object, oneWord, orNull, text, time, whole } from '../http/schemas/json-schema.ts'

const contentType = 'application/json'
const headers = object({ 'content-type': { type: 'string', const: contentType } })

/** The heartbeat and the day report. */
export const statusMessages: readonly ChannelMessage[] = [
  {
    name: 'heartbeat',
    summary: 'The bridge leads and polls: every 15 s, and after each good poll.',
    contentType,
    headers,
    payload: object({
      type: { type: 'string', const: 'heartbeat' },
      epoch: text('The epoch of the log.'),
      sequence: whole('The last sequence.'),
      lastGoodPoll: orNull(time('When upstream last answered well; null before the first time.')),
      nextPoll: orNull(time('When the next poll is due; null before the first.')),
      phase: oneWord(phases, 'Where in the London day the market is.'),
      openGaps: whole('Gaps that are open.'),
      quotaRemaining: whole('Units of the week that are left.'),
    }),
    bindings: keyed('heartbeat'),
  },
  {
    name: 'day',
    summary: 'What a London day brought, once it is over; may come twice, then with the same date.',
    contentType,
    headers,
    payload: withType('day', daySchema),
    bindings: keyed('day'),
  },
]

/** The key of a status record is its type. */
function keyed(type: string): Bindings {
  return { kafka: { key: { type: 'string', const: type }, bindingVersion: '0.5.0' } }
}

function withType(type: string, { properties = {}, required = [] }: JsonSchema): JsonSchema {
  const typed = { type: { type: 'string', const: type }, ...properties } as const
  return object(
    typed,
    Object.keys(properties).filter((name) => !required.includes(name)),
  )
}
