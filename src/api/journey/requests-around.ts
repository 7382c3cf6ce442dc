/** Selects from the table of requests to the upstream those between two times. */
import { bucketOfKey, type PollsRow } from '../../archive/polls.ts'
import { HOUR_MS, MINUTE_MS } from '../../core/durations.ts'
import { BUCKET_MS } from '../../governor/quota/time-buckets.ts'
import type { MadeRequest, RequestsAround } from './journey-facts.ts'

/** The poll before an event is looked for so far back: the least frequent plan polls every few hours at night. */
const REACH_MS = 12 * HOUR_MS

/** The requests from some hours before `fromMs` up to `toMs`, by the leader's clock. */
export function requestsAround(
  rows: ReadonlyMap<string, PollsRow>,
  fromMs: number,
  toMs: number,
): RequestsAround {
  const requests: MadeRequest[] = []
  let summedToMs = 0
  const summed = { polls: 0, failed: 0 }
  let nearest: { distanceMs: number; aheadMs: number } | null = null
  for (const [key, { aheadMs, requests: single, minutes }] of rows) {
    const bucketMs = bucketOfKey(key)
    if (!(bucketMs + BUCKET_MS >= fromMs - REACH_MS && bucketMs <= toMs)) continue
    const distanceMs = Math.abs(bucketMs + BUCKET_MS / 2 - toMs)
    if (aheadMs !== null && distanceMs < (nearest?.distanceMs ?? Number.POSITIVE_INFINITY))
      nearest = { distanceMs, aheadMs }
    const leaderSinceMs = Number(key.split('-')[1])
    for (const [atMs, purpose, result, , , plannedMs, durationMs] of single) {
      if (atMs <= toMs) requests.push({ atMs, leaderSinceMs, purpose, result, plannedMs, durationMs })
    }
    for (const { minuteMs, purpose, results } of minutes) {
      if (purpose !== 'poll' && purpose !== 'probe') continue
      if (minuteMs <= fromMs) summedToMs = Math.max(summedToMs, Math.min(minuteMs + MINUTE_MS, fromMs))
      if (minuteMs + MINUTE_MS < fromMs || minuteMs > toMs) continue
      const all = Object.values(results).reduce((sum, count) => sum + count, 0)
      summed.polls += all
      summed.failed += all - (results.new ?? 0) - (results.empty ?? 0)
    }
  }
  const followed = requests.filter(({ atMs }) => atMs >= summedToMs)
  followed.sort((one, other) => one.atMs - other.atMs)
  return { requests: followed, summed, aheadMs: nearest?.aheadMs ?? null }
}
