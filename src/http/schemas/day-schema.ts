/**
 * One London day as it is reported, by `GET /v1/report` and on the status topic, as JSON Schema. Owns the description
 * of each member; `archive/days.ts` has the shape. Refuses to fill it.
 */
import { flag, object, oneWord, orNull, text, time, whole } from './json-schema.ts'

/** A London day as it is reported. */
export const daySchema = object({
  date: text("London's date.", { format: 'date' }),
  polled: whole('Contents of items found by polls.'),
  filled: whole('By fills: what a poll had to leave out.'),
  swept: whole('By sweeps and the walk over the day.'),
  backfilled: whole('By the backfill of the first start.'),
  amended: whole('Of all these, later contents of items that were held already.'),
  rejected: whole('Unreadable items, counted at the day on which they came.'),
  gapsLeft: whole('Gaps over this day that are open.'),
  eodSeen: flag("Whether upstream's own mark of the day's end is held."),
  walk: oneWord(
    ['not_due', 'none', 'owed', 'whole', 'unpaid', 'failed', 'missed'],
    'What became of the walk over the whole day.',
  ),
  walkedAt: orNull(time('When the walk ended whole.')),
  since: orNull(time('From when on the day was counted, where that was a part of it.')),
  units: {
    type: 'object',
    description: 'Units spent on that day, by what for.',
    additionalProperties: { type: 'integer' },
  },
})
