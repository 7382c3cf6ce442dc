/**
 * Defines the schema of the report on one day (London time), as `GET /v1/report` and the Kafka status topic publish it.
 * The report counts the items received and the gaps that remain (spans of time in which items may be missing).
 */
import { z } from 'zod'
import { isoTime } from './json-schema.ts'

/** A London day as it is reported. */
export const daySchema = z.object({
  date: z.string().meta({ description: "London's date.", format: 'date' }),
  polled: z.int().describe('Contents of items found by polls.'),
  filled: z.int().describe('By fills: what a poll had to leave out.'),
  swept: z.int().describe('By re-scans and the daily reconciliation.'),
  backfilled: z.int().describe('By the backfill of the first start.'),
  amended: z.int().describe('Of all these, later contents of items that were held already.'),
  rejected: z.int().describe('Unreadable items, counted at the day on which they came.'),
  gapsLeft: z.int().describe('Gaps over this day that are open.'),
  eodSeen: z.boolean().describe("Whether upstream's own mark of the day's end is held."),
  walk: z
    .enum(['not_due', 'none', 'pending', 'complete', 'over_budget', 'failed', 'missed'])
    .describe('How the daily reconciliation, which reads the whole day again, ended.'),
  walkedAt: isoTime('When the reconciliation completed.').nullable(),
  unreconciled: z
    .array(z.object({ from: isoTime('Its first moment.'), to: isoTime('Its last moment.') }))
    .optional()
    .describe(
      'Spans of the day, up to now, that polls covered and no reconciliation has read again: what became visible there behind the cursor may be missing. Absent in reports of older versions.',
    ),
  since: isoTime('From when on the day was counted, where that was a part of it.').nullable(),
  units: z.record(z.string(), z.int()).describe('Units spent on that day, by what for.'),
})
