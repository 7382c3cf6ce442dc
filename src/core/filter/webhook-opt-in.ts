/**
 * Decides whether a webhook's filter opts in to gap events (items may be missing) and to `webhook.disabled` notifications
 * (docs/adr/0005). Streams and HTTP pull receive gap events without opting in.
 */
import type { Filter } from './filter.ts'

/** True if `types` of the filter, or of one of its `filters`, has `gap`, and `exclude` does not. */
export function wantsGaps(filter: Filter): boolean {
  return names(filter, 'gap')
}

/** The same rule for `webhook.disabled`. */
export function wantsNotices(filter: Filter): boolean {
  return names(filter, 'webhook.disabled')
}

function names({ types, filters, exclude }: Filter, kind: 'gap' | 'webhook.disabled'): boolean {
  if (exclude?.types?.includes(kind)) return false
  return types === undefined
    ? (filters ?? []).some((member) => member.types?.includes(kind) ?? false)
    : types.includes(kind)
}
