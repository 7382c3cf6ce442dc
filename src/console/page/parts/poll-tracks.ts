/** Turns the requests to the upstream of a day into tracks of a chart, by the upstream's clock. */

import type { Layer, Tone } from './chart/chart-data.ts'
import type { PollsOfDay } from './reading-answers.ts'

const MINUTE_MS = 60_000

/** The track of the requests with these purposes. */
export function pollTrack(
  { data, minutes }: PollsOfDay,
  { name, tone, purposes }: { name: string; tone: Tone; purposes: readonly string[] },
): Layer {
  const isOfTrack = ({ purpose }: { purpose: string }): boolean => purposes.includes(purpose)
  return {
    kind: 'track',
    name,
    tone,
    atMs: data.filter(isOfTrack).map(({ at, upstreamAt }) => Date.parse(upstreamAt ?? at)),
    counts: minutes.filter(isOfTrack).map(({ from, upstreamFrom, requests }) => {
      const fromMs = Date.parse(upstreamFrom ?? from)
      return { fromMs, toMs: fromMs + MINUTE_MS, value: requests }
    }),
  }
}

/** Purposes of requests that look for what is new. */
export const POLL_PURPOSES = ['poll', 'probe']
/** Purposes of requests that read again, or the rest of a page. */
export const REREAD_PURPOSES = ['fill', 'sweep', 'backfill']
