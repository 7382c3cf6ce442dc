/**
 * Whether a webhook gets gap events. Owns that rule alone: streams and pull get every gap, a webhook only where its filter
 * names them (contract §5). Refuses to evaluate filters.
 */
import type { Filter } from '../core/filter.ts'

/** True where the filter's `types`, or those of one of its `filters`, name `gap`, and nothing leaves them out. */
export function wantsGaps({ types, filters, exclude }: Filter): boolean {
  if (exclude?.types?.includes('gap')) return false
  return types === undefined
    ? (filters ?? []).some((member) => member.types?.includes('gap') ?? false)
    : types.includes('gap')
}
