/**
 * Serves `GET /v1/arrivals`: how many announcements came in each five minutes of a London day, by their own time and by the
 * time at which the bridge first held them.
 */
import { z } from 'zod'
import { ArrivalCounter, type Slots } from '../../archive/reading/arrivals.ts'
import type { Reader } from '../../archive/reading/reader.ts'
import type { SearchSlices } from '../../archive/reading/search-slices.ts'
import { requireCompleteReplica } from '../../archive/replica/replica-incomplete.ts'
import type { Archive } from '../../archive/store/archive.ts'
import type { Calendar } from '../../core/calendar/calendar.ts'
import { isoOrNull, isoSeconds } from '../../core/dates.ts'
import { SECOND_MS } from '../../core/durations.ts'
import { type Route, sendJson } from '../../http/route.ts'
import { isoTime } from '../../http/schemas/json-schema.ts'
import type { Clock } from '../../lifecycle/clock.ts'
import { dateParameter, dayShape, readLondonDay, SLOT_MS, shownDay } from './london-day.ts'

/** What the route works with. */
export interface ArrivalsParts {
  archive: Archive
  reader: Pick<Reader, 'latest' | 'replica'>
  searchSlices: SearchSlices
  calendar: Calendar
  /** The upstream's present time, ms since 1970. */
  upstreamNowMs: () => number
  clock: Pick<Clock, 'now'>
}

const UNKNOWN =
  'null: not known here, because the slot has not begun or because this node no longer keeps all events of it.'

const arrivalsSchema = z.object({
  ...dayShape,
  slotSeconds: z.int().describe('Length of a slot, seconds.'),
  sequence: z.int().describe('Counted up to this event.'),
  keptSince: isoTime(
    'This node keeps every event of this log that the bridge has held since then. null: every one of this log; what a log before it held is not known here.',
  ).nullable(),
  data: z
    .array(
      z.object({
        from: isoTime('The first moment of the slot.'),
        byTime: z.int().describe(`Those whose own \`time\` is in the slot. ${UNKNOWN}`).nullable(),
        byRecordedTime: z
          .int()
          .describe(`Those whose \`recordedtime\` is in the slot. ${UNKNOWN}`)
          .nullable(),
      }),
    )
    .describe('Announcements and changed contents of them, slot by slot, the earliest first.'),
})

/** The answer. */
export type Arrivals = z.infer<typeof arrivalsSchema>

/** The route. Every node counts in its own copy of the log. */
export function arrivalsRoute({ archive, reader, calendar, clock, ...parts }: ArrivalsParts): Route {
  const counter = new ArrivalCounter(archive, parts.searchSlices)
  return {
    method: 'GET',
    path: '/v1/arrivals',
    scope: 'events:read',
    summary:
      'Announcements of a London day in slots of five minutes, by `time` and by `recordedtime`: `{date, from, to, slotSeconds, sequence, keptSince, data: [{from, byTime, byRecordedTime}]}`. See [quota.md](../run/quota.md#arrivals).',
    parameters: { date: dateParameter },
    answers: { 200: { meaning: 'The arrivals of the day.', schema: arrivalsSchema } },
    problems: ['unavailable'],
    async handle({ query, response, caller, gone }) {
      const upstreamMs = parts.upstreamNowMs()
      const day = readLondonDay(query, calendar, upstreamMs)
      query.check()
      requireCompleteReplica(reader.replica)
      const slots: Slots = { fromMs: day.startMs, toMs: day.endMs, slotMs: SLOT_MS }
      const counts = await counter.count(slots, reader.latest, { gone, caller: caller.tokenId })
      if (gone.aborted) return
      const nowMs = clock.now()
      const keptMs = archive.oldest > 1 ? archive.oldestRecordedMs() : null
      const aheadMs = upstreamMs - nowMs
      const known = (count: number, startMs: number, clockAheadMs: number): number | null => {
        const hasBegun = startMs <= nowMs + clockAheadMs || count > 0
        return hasBegun && startMs >= (keptMs ?? Number.NEGATIVE_INFINITY) + clockAheadMs ? count : null
      }
      const body: Arrivals = {
        ...shownDay(day),
        slotSeconds: SLOT_MS / SECOND_MS,
        sequence: counts.through,
        keptSince: isoOrNull(keptMs),
        data: counts.byTime.map((count, slot) => {
          const startMs = day.startMs + slot * SLOT_MS
          return {
            from: isoSeconds(startMs),
            byTime: known(count, startMs, aheadMs),
            byRecordedTime: known(counts.byRecordedTime[slot] ?? 0, startMs, 0),
          }
        }),
      }
      sendJson(response, 200, Buffer.from(JSON.stringify(body)))
    },
  }
}
