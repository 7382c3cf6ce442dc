/**
 * Describes the messages of the Kafka status topic, heartbeat and day report, for the AsyncAPI document that this program
 * publishes.
 */
import { z } from 'zod'
import { phases } from '../core/calendar/calendar.ts'
import type { Bindings, ChannelMessage } from '../http/channel.ts'
import { daySchema } from '../http/schemas/day-schema.ts'
import { leaderReportMembers } from '../http/schemas/leader-report-schema.ts'

const contentType = 'application/json'
const headers = z.object({ 'content-type': z.literal(contentType) })

/** The heartbeat and the day report. */
export const statusMessages: readonly ChannelMessage[] = [
  {
    name: 'heartbeat',
    summary: 'What the leader knows: every 5 s, after each good poll, and when it has taken over.',
    contentType,
    headers,
    payload: z.object({
      type: z.literal('heartbeat'),
      epoch: z.string().describe('The epoch of the log.'),
      sequence: z.int().describe('The last sequence.'),
      phase: z.enum(phases).describe('Where in the London day the market is.'),
      openGaps: z.int().describe('Gaps that are open.'),
      quotaRemaining: z.int().describe('Units of the week that are left.'),
      ...leaderReportMembers,
    }),
    bindings: keyed('heartbeat'),
  },
  {
    name: 'day',
    summary: 'What a London day brought, once it is over; may come twice, then with the same date.',
    contentType,
    headers,
    payload: z.object({ type: z.literal('day'), ...daySchema.shape }),
    bindings: keyed('day'),
  },
]

/** The key of a status record is its type. */
function keyed(type: string): Bindings {
  return { kafka: { key: { type: 'string', const: type }, bindingVersion: '0.5.0' } }
}
