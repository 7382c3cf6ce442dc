/**
 * Defines the request for the figures by which the leader plans its polls, and the schema of its answer. Only the leader has
 * them; `GET /v1/quota` on any node computes from them.
 */
import { z } from 'zod'
import { planNames } from '../../core/plans.ts'
import { quotaSchema } from './leader-report-schema.ts'

/** The text of the request. */
export const QUOTA_REQUEST = 'quota'

const belief = z.tuple([z.number(), z.number()])
const nullableTime = z.iso.datetime().nullable()

/** The answer. Its ledger and profile are those of `governor/`, which stores them in the same form. */
export const leaderQuotaSchema = z.object({
  asOf: z.iso.datetime(),
  nextPoll: nullableTime,
  upstreamAheadMs: z.number().nullable(),
  quota: quotaSchema,
  pollsUntilReset: z.number(),
  plan: z.object({
    name: z.enum(planNames),
    ratePerSecond: z.number(),
    burst: z.number(),
    weeklyQuota: z.number(),
    pageSize: z.number(),
    gatewayUnits: z.number(),
    quotaReset: z.union([z.literal('rolling'), z.object({ minutesAfterMonday: z.number() })]),
  }),
  /** Units by purpose, by the start of their time bucket, ms since 1970. */
  ledger: z.array(z.tuple([z.number(), z.record(z.string(), z.number())])),
  profile: z.object({
    slots: z.array(belief),
    sharp: z.array(z.object({ minuteOfDay: z.number(), days: z.number(), seen: z.array(z.number()) })),
    closed: belief,
    weekdays: z.array(belief),
    monthFirst: belief,
    lagsMs: z.array(z.number()),
    learntToMs: z.number(),
  }),
})

/** The figures. */
export type LeaderQuota = z.infer<typeof leaderQuotaSchema>

/** The figures in a text; null where it has none, for example from a leader of another version. */
export function readLeaderQuota(text: string): LeaderQuota | null {
  try {
    return leaderQuotaSchema.safeParse(JSON.parse(text)).data ?? null
  } catch {
    return null
  }
}
