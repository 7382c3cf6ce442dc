/**
 * Checks the announcements of one page of the upstream: whether they match the upstream's specification, and whether
 * their own categories are of the kind that the settings name.
 */
import { readDisclosure } from '../../core/disclosure.ts'
import type { Page } from '../../upstream/page.ts'
import { itemSchema } from '../../upstream/schemas.ts'
import { type Finding, fine, warn } from './finding.ts'

/** No findings for a page without items. `nativeKind`: the kind that upstream gives its own categories. */
export function judgeItems({ items }: Page, nativeKind: string): Finding[] {
  if (items.length === 0) return []
  const read = items.map(({ value }) => itemSchema.safeParse(value))
  const [problem, ...others] = read.flatMap(({ error }) => error ?? [])
  const disclosures = items.map(({ value }) => readDisclosure(value))
  const kinds = new Set(
    disclosures.flatMap((one) => (one.ok ? one.disclosure.categories.map(({ kind }) => kind) : [])),
  )
  const form =
    problem === undefined
      ? `${items.length} announcements, all as specified`
      : `${others.length + 1} of ${items.length} announcements differ from the specification (${wordsOf(problem)}); they are published as they came`
  const foreign = [...kinds].filter((kind) => kind !== 'FCA' && kind !== 'RNS')
  if (foreign.length === 0 || kinds.has(nativeKind)) return [fine('items', form)]
  return [
    warn(
      'items',
      `no category has the kind "${nativeKind}", but there are ${foreign.map((kind) => `"${kind}"`).join(', ')}`,
      'set BRIDGE_UPSTREAM_NATIVE_WORD to the word of the upstream, or filters and topics of its own categories stay empty',
    ),
  ]
}

/** Where the first problem of an item is, and what. */
function wordsOf({
  issues,
}: {
  issues: readonly { path: readonly PropertyKey[]; message: string }[]
}): string {
  return issues
    .slice(0, 1)
    .map(({ path, message }) => `${path.map((part) => part.toString()).join('.')}: ${message}`)
    .join('')
}
