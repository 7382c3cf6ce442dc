/**
 * What upstream's headers say of a quota, where they do: nothing is documented, so the customary names are tried. Owns
 * the reading. Refuses to say which quota it is: a service counts by the second, too.
 */

/** A quota as upstream counts it, in requests. */
export interface ReportedQuota {
  limit: number
  remaining: number
}

/** Beginnings of the header names that are in use, before `limit` and `remaining`. */
const NAMES = ['x-quota-', 'x-ratelimit-', 'ratelimit-'] as const
const WHOLE_NUMBER = /^\d{1,9}$/

/** Every quota that these headers tell of: both figures, whole numbers, and no more left than there is. */
export function reportedQuotas(header: (name: string) => string | null): ReportedQuota[] {
  return NAMES.flatMap((name) => {
    const limit = header(`${name}limit`)?.trim() ?? ''
    const remaining = header(`${name}remaining`)?.trim() ?? ''
    if (!WHOLE_NUMBER.test(limit) || !WHOLE_NUMBER.test(remaining)) return []
    const quota = { limit: Number(limit), remaining: Number(remaining) }
    return quota.remaining <= quota.limit ? [quota] : []
  })
}
