/**
 * Defines the schemas of what only the leader knows: the upstream's state, the next poll, the quota and open gaps. The
 * heartbeats of the Kafka status topic and `GET /v1/status` share them.
 */
import { z } from 'zod'
import { upstreamStates } from '../../obs/metrics.ts'
import { gapSchema } from './event-schema.ts'
import { isoTime } from './json-schema.ts'

/** What the plan pays for, rising: polls with their fills, re-scans too, a reconciliation of each day too. */
export const completenessLevels = ['polls+fills', '+sweeps', '+day'] as const

/** The weekly quota as the leader counts it; null: not known. */
export const quotaSchema = z.object({
  limit: z.int().describe('Units a week.').nullable(),
  used: z.int().describe('Units used of them.').nullable(),
  remaining: z.int().describe('Units left.').nullable(),
  reset: isoTime('When units come back.').nullable(),
  forecast: z
    .number()
    .describe('Planned use, or that of a usual week at least, over what is left.')
    .nullable(),
  drift: z.number().describe('What upstream reports as used minus our count, over `limit`.').nullable(),
})

/** A quota of which nothing is known. */
export const UNKNOWN_QUOTA: z.infer<typeof quotaSchema> = {
  limit: null,
  used: null,
  remaining: null,
  reset: null,
  forecast: null,
  drift: null,
}

/** Most gaps in a heartbeat, the oldest ones; a Kafka record has at most 1 MiB, a gap some 200 bytes. */
export const MOST_REPORTED_GAPS = 1000

/** Spans of upstream time in which an item may be missing without a gap. */
export const unreconciledSchema = z
  .array(z.object({ from: isoTime('Its first moment.'), to: isoTime('Its last moment.') }))
  .describe(
    'Spans of the last two weeks, up to now, that polls covered and no daily reconciliation has read again: what became visible there behind the cursor may be missing, and no gap shows it.',
  )

/** What a heartbeat reports beside the end of the log, the phase and plain counts. */
export const leaderReportMembers = {
  asOf: isoTime("When the leader made this report, by the leader's clock."),
  leader: z.object({
    id: z.string().describe('Host and process id of the leader.'),
    since: isoTime("Since when it leads, by the leader's clock."),
  }),
  upstreamState: z
    .enum(upstreamStates)
    .describe('What upstream last did; `waiting` before the first request.'),
  lastGoodPoll: isoTime('When upstream last answered well; null before the first time.').nullable(),
  nextPoll: isoTime(
    'When the next poll is due; null before the first, and while polling is paused.',
  ).nullable(),
  pausedSince: isoTime('Since when an operator has paused polling; null while it goes on.').nullable(),
  quota: quotaSchema,
  gaps: z.array(gapSchema).describe(`The open gaps, at most the ${MOST_REPORTED_GAPS} oldest.`),
  completeness: z.enum(completenessLevels).describe('What the plan pays for.'),
  unreconciled: unreconciledSchema,
  upstreamAheadMs: z
    .number()
    .describe(
      "Upstream's clock minus the leader's, ms; null before the first good poll, and while the two disagree and new items have not shown which is right.",
    )
    .nullable(),
}

const knownTime = z.iso.datetime().nullable().catch(null)

/**
 * Reads a heartbeat. A member that an earlier version did not report, or whose value only a later version knows, is null:
 * bridges of two versions may run side by side.
 */
const heartbeatSchema = z
  .object({
    type: z.literal('heartbeat'),
    openGaps: z.int().nullable().catch(null),
    quotaRemaining: z.int().nullable().catch(null),
    asOf: knownTime,
    leader: z.object({ id: z.string(), since: z.iso.datetime() }).nullable().catch(null),
    upstreamState: z.enum(upstreamStates).nullable().catch(null),
    lastGoodPoll: knownTime,
    nextPoll: knownTime,
    pausedSince: knownTime,
    quota: quotaSchema.nullable().catch(null),
    gaps: z.array(gapSchema).nullable().catch(null),
    completeness: z.enum(completenessLevels).nullable().catch(null),
    unreconciled: unreconciledSchema.nullable().catch(null),
    upstreamAheadMs: z.number().nullable().catch(null),
  })
  .transform(({ type: _, openGaps, quotaRemaining, ...heartbeat }) => ({
    ...heartbeat,
    quota: heartbeat.quota ?? { ...UNKNOWN_QUOTA, remaining: quotaRemaining },
    gaps: heartbeat.gaps ?? (openGaps === 0 ? [] : null),
  }))

/** What the leader reports; null: not known. Times are ISO 8601. */
export type LeaderReport = z.infer<typeof heartbeatSchema>

/** What heartbeats of streams say of a report; null: not known. Times are ISO 8601. */
export interface UpstreamNews
  extends Pick<LeaderReport, 'upstreamState' | 'lastGoodPoll' | 'nextPoll' | 'asOf'> {
  /** How many gaps are open; of another process at most MOST_REPORTED_GAPS. */
  openGaps: number | null
  /** Units that are left this week. */
  quotaRemaining: number | null
  /** The id of the leader, as tokens see it that are not the operator's. */
  leader: string | null
  /** Since when the leader leads. */
  leaderSince: string | null
}

const statusMessageSchema = z.object({ type: z.string() })

/**
 * The report in a message of the status topic: null where the message is of another type, undefined where it is no status
 * message.
 */
export function reportIn(text: string): LeaderReport | null | undefined {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return undefined
  }
  const heartbeat = heartbeatSchema.safeParse(value)
  if (heartbeat.success) return heartbeat.data
  return statusMessageSchema.safeParse(value).success ? null : undefined
}
