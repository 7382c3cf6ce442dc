/** Finds what changed from one content of an item to another: each member that was added, removed or changed, by its path. */

/** One member that differs. A value is shown as it is if it is a text, else as JSON; null where there is none. */
export interface Difference {
  /** Where it is, e.g. `issuer.instrument.isin`, `category[1].code`. */
  path: string
  before: string | null
  after: string | null
}

/** What differs between two values of JSON, in the order of the first, then what only the second has. */
export function differencesOf(before: unknown, after: unknown, path = ''): Difference[] {
  if (JSON.stringify(before) === JSON.stringify(after)) return []
  if (Array.isArray(before) && Array.isArray(after)) return listDifferences(before, after, path)
  if (isMembers(before) && isMembers(after)) {
    const names = [...new Set([...Object.keys(before), ...Object.keys(after)])]
    return names.flatMap((name) =>
      differencesOf(before[name], after[name], path === '' ? name : `${path}.${name}`),
    )
  }
  return [{ path, before: valueText(before), after: valueText(after) }]
}

/** Lists of one length are compared place by place; else an element that moved is no difference, one that came or went is. */
function listDifferences(before: readonly unknown[], after: readonly unknown[], path: string): Difference[] {
  if (before.length === after.length)
    return before.flatMap((value, index) => differencesOf(value, after[index], `${path}[${index}]`))
  const gone = without(before, after)
  const come = without(after, before)
  return [
    ...gone.map((value) => ({ path: `${path}[]`, before: valueText(value), after: null })),
    ...come.map((value) => ({ path: `${path}[]`, before: null, after: valueText(value) })),
  ]
}

/** The elements of a list that another one has fewer times. */
function without(list: readonly unknown[], other: readonly unknown[]): unknown[] {
  const left = other.map((value) => JSON.stringify(value))
  return list.filter((value) => {
    const at = left.indexOf(JSON.stringify(value))
    if (at >= 0) left.splice(at, 1)
    return at < 0
  })
}

function isMembers(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function valueText(value: unknown): string | null {
  if (value === undefined) return null
  return typeof value === 'string' ? value : JSON.stringify(value)
}
