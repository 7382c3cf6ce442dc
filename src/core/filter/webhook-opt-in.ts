/**
 * Decides whether a webhook's filter opts in to gap events (items may be missing) and to notifications about other
 * endpoints (docs/adr/0005). Streams and HTTP pull receive gap events without opting in.
 */
import type { Facts } from './facts.ts'
import type { Filter, NoticeKind } from './filter.ts'

/** False for a gap event that a webhook with this filter did not opt in to. Every other event of the log needs no opt-in. */
export function isOptedIn(filter: Filter, { kind }: Pick<Facts, 'kind'>): boolean {
  return kind !== 'gap' || wantsGaps(filter)
}

/** True if `types` of the filter, or of one of its `filters`, has `gap`, and `exclude` does not. */
export function wantsGaps(filter: Filter): boolean {
  return names(filter, 'gap')
}

/** The same rule for a notification. */
export function wantsNotice(filter: Filter, kind: NoticeKind): boolean {
  return names(filter, kind)
}

function names({ types, filters, exclude }: Filter, kind: 'gap' | NoticeKind): boolean {
  if (exclude?.types?.includes(kind)) return false
  return types === undefined
    ? (filters ?? []).some((member) => member.types?.includes(kind) ?? false)
    : types.includes(kind)
}
