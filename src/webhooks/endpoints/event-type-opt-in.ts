/**
 * Whether a webhook gets the kinds of events that it has to name: gaps, which streams and pull get in any case (contract
 * §5), and notices that another endpoint was disabled (docs/adr/0005). Owns that rule alone. Refuses to evaluate filters.
 */
import type { Filter } from '../../core/filter/filter.ts'

/** True where the filter's `types`, or those of one of its `filters`, name `gap`, and nothing leaves them out. */
export function wantsGaps(filter: Filter): boolean {
  return names(filter, 'gap')
}

/** The same for `webhook.disabled`. */
export function wantsNotices(filter: Filter): boolean {
  return names(filter, 'webhook.disabled')
}

function names({ types, filters, exclude }: Filter, kind: 'gap' | 'webhook.disabled'): boolean {
  if (exclude?.types?.includes(kind)) return false
  return types === undefined
    ? (filters ?? []).some((member) => member.types?.includes(kind) ?? false)
    : types.includes(kind)
}
