/**
 * `GET /v1/status` as JSON Schema. Owns the description of each member; `app/status.ts` has the shape. Refuses to fill it.
 */
import { phases } from '../../core/calendar/calendar.ts'
import {
  figure,
  flag,
  list,
  object,
  oneWord,
  orNull,
  ref,
  text,
  time,
  whole,
} from '../../http/schemas/json-schema.ts'

/** The whole answer. */
export const statusSchema = object({
  leader: object({
    id: orNull(text('Who polls; null while nobody does.')),
    since: orNull(time('Since when.')),
    self: flag('Whether it is this node.'),
  }),
  upstream: object({
    state: oneWord(
      ['ok', 'throttled', 'quota', 'unauthorised', 'failing', 'waiting'],
      'What upstream last did; `waiting` before the first request, and on a node that does not poll.',
    ),
    lastGoodPoll: orNull(time('The last good poll.')),
    nextPoll: orNull(time('When the next poll is due; null on a node that does not poll.')),
    phase: oneWord(phases, 'Where in the London day upstream is.'),
  }),
  quota: object({
    limit: orNull(whole('Units a week.')),
    used: orNull(whole('Units used of them.')),
    remaining: orNull(whole('Units left.')),
    reset: orNull(time('When units come back.')),
    forecast: orNull(figure('Planned use over what is left.')),
    drift: orNull(figure('What upstream reports as used minus our count, over `limit`.')),
  }),
  log: object({
    kind: oneWord(['kafka', 'embedded', 'memory'], 'Where the log lies.'),
    epoch: orNull(text('The epoch of the log.')),
    oldest: whole('The earliest sequence that is kept.'),
    latest: whole('The last sequence.'),
  }),
  copy: object({
    sequence: whole('How far the copy of this node is.'),
    lagEvents: whole('How many events that is behind the log.'),
    lagSeconds: figure('How long it has been behind, seconds.'),
    filled: figure('How much of the log is here, from 0 to 1; below 1 only while a copy is filled.'),
  }),
  completeness: oneWord(
    ['polls+fills', '+sweeps', '+day'],
    'What the plan pays for: polls with their fills, sweeps too, a walk over each whole day too.',
  ),
  gaps: list(ref('Gap'), { description: 'Gaps that are open.' }),
  roles: list({ type: 'string' }, { description: 'What this node does.' }),
})
