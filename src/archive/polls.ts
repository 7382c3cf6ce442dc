/**
 * Defines the rows of the log's table `polls`, in which the leader keeps its requests to upstream for eight days: one by one,
 * and as sums by minute where they are frequent. `ingest/poll-keeper.ts` writes them.
 */
import { DAY_MS, MINUTE_MS } from '../core/durations.ts'
import type { Purpose } from '../core/purpose.ts'
import type { PollResult } from '../obs/metrics.ts'

/** The log table of requests to upstream. */
export const POLLS_TABLE = 'polls'

/** How long a row is kept, ms: today and the seven days before it. */
export const POLLS_KEPT_MS = 8 * DAY_MS

/** Most requests of one row that are kept one by one; with one more, all of the row become sums by minute. */
export const MOST_SINGLE = 60

/** What a request of the table was for. Those that the gateway passes on for callers are not kept. */
export const keptPurposes = [
  'poll',
  'fill',
  'sweep',
  'backfill',
  'probe',
] as const satisfies readonly Purpose[]
type KeptPurpose = (typeof keptPurposes)[number]

/**
 * One request: when it left (our clock, ms since 1970), what for, its result, the items that were new, whether the page was
 * full (1) or not (0), the planned time to the next poll, and how long it took, ms. null: it brought no page, is no poll, or
 * its end is not known.
 */
export type KeptRequest = readonly [
  atMs: number,
  purpose: KeptPurpose,
  result: PollResult,
  newItems: number | null,
  isFull: 0 | 1 | null,
  intervalMs: number | null,
  durationMs: number | null,
]

/** The requests of one purpose in one minute. */
export interface RequestSums {
  /** Its start, our clock, ms since 1970. */
  minuteMs: number
  purpose: KeptPurpose
  results: Partial<Record<PollResult, number>>
  newItems: number
  fullPages: number
}

/** The requests of one leadership in one time bucket, in one of the two forms. */
export interface PollsRow {
  /** Upstream's clock minus ours, ms; null while it is not known. */
  aheadMs: number | null
  requests: readonly KeptRequest[]
  minutes: readonly RequestSums[]
}

/** The key of the row that a leadership made as its `number`th: neither another leader nor a clock set back writes it again. */
export function pollsKey(bucketMs: number, leaderSinceMs: number, number: number): string {
  return `${bucketMs}-${leaderSinceMs}-${number}`
}

/** The start of the row's time bucket, ms since 1970; NaN for a key of another form. */
export function bucketOfKey(key: string): number {
  return /^\d+-\d+-\d+$/.test(key) ? Number.parseInt(key, 10) : Number.NaN
}

/** The row with one more request. */
export function withRequest(row: PollsRow, request: KeptRequest): PollsRow {
  const { requests, minutes } = row
  if (minutes.length === 0 && requests.length < MOST_SINGLE)
    return { ...row, requests: [...requests, request] }
  return { ...row, requests: [], minutes: [...requests, request].reduce(withSum, minutes) }
}

function withSum(minutes: readonly RequestSums[], request: KeptRequest): readonly RequestSums[] {
  const [atMs, purpose, result, newItems, isFull] = request
  const minuteMs = Math.floor(atMs / MINUTE_MS) * MINUTE_MS
  const isSame = (sums: RequestSums): boolean => sums.minuteMs === minuteMs && sums.purpose === purpose
  const known = minutes.find(isSame) ?? { minuteMs, purpose, results: {}, newItems: 0, fullPages: 0 }
  const sums: RequestSums = {
    ...known,
    results: { ...known.results, [result]: (known.results[result] ?? 0) + 1 },
    newItems: known.newItems + (newItems ?? 0),
    fullPages: known.fullPages + (isFull ?? 0),
  }
  return [...minutes.filter((other) => !isSame(other)), sums]
}
