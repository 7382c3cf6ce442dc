/**
 * Reads quotas from upstream's response headers, under the names in common use, because upstream documents none. A quota
 * found there need not be the weekly one: it may also be one per second.
 */
/** A quota as upstream counts it, in requests. */
export interface ReportedQuota {
  limit: number
  remaining: number
}

/** Common prefixes of the header names, before `limit` and `remaining`. */
const NAMES = ['x-quota-', 'x-ratelimit-', 'ratelimit-'] as const
const WHOLE_NUMBER = /^\d{1,9}$/

/** Every quota in these headers with a valid limit and rest: integers, the rest no larger than the limit. */
export function reportedQuotas(header: (name: string) => string | null): ReportedQuota[] {
  return NAMES.flatMap((name) => {
    const limit = header(`${name}limit`)?.trim() ?? ''
    const remaining = header(`${name}remaining`)?.trim() ?? ''
    if (!WHOLE_NUMBER.test(limit) || !WHOLE_NUMBER.test(remaining)) return []
    const quota = { limit: Number(limit), remaining: Number(remaining) }
    return quota.remaining <= quota.limit ? [quota] : []
  })
}
