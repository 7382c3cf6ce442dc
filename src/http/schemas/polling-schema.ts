/** Defines how answers say whether an operator has paused polling. */
import { z } from 'zod'
import { isoMillis } from '../../core/dates.ts'
import { isoTime } from './json-schema.ts'

/** Whether polling is paused. */
export const pollingSchema = z.object({
  paused: z
    .boolean()
    .describe('Whether an operator has paused polling; null until this node knows.')
    .nullable(),
  since: isoTime('Since when it is paused.').nullable(),
  by: z.string().describe('The id of the token that paused it; only the operator sees it.').nullable(),
  reason: z.string().describe('What was given as the reason; only the operator sees it.').nullable(),
})

/** The same as a value. */
export type PollingStatus = z.infer<typeof pollingSchema>

/** What is known of a pause; `sinceMs`: ms since 1970. */
interface KnownPause {
  sinceMs: number
  by: string | null
  reason: string | null
}

/** The answer for the pause that is known: null where polling goes on, undefined where this node does not know yet. */
export function pollingStatusOf(pause: KnownPause | null | undefined): PollingStatus {
  if (pause === undefined) return { paused: null, since: null, by: null, reason: null }
  if (pause === null) return { paused: false, since: null, by: null, reason: null }
  const { sinceMs, by, reason } = pause
  return { paused: true, since: isoMillis(sinceMs), by, reason }
}
