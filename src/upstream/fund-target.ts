/**
 * Normalizes requests to upstream's nine paths for fund and investor-relations data, so that equal requests have one
 * spelling and share a cached reply.
 */
const RESOURCES = 'nav|buybacks|dividends|events|performance'
const HISTORIES = 'nav|buybacks|dividends'
/** An ISIN, a symbol, or `<MIC>:<symbol>`: it cannot contain `..` of a path. */
const IDENTIFIER = /^[A-Z0-9][A-Z0-9.:]{0,19}$/

const LIST = ['isin', 'isins', 'pageNumber', 'pageSize', 'sinceCursor']
const HISTORY = ['dateFrom', 'dateTo', 'pageNumber', 'pageSize']
const SINGLE = new RegExp(`^/(?:${RESOURCES})/([^/]+)$`)
const PAST = new RegExp(`^/(?:${HISTORIES})/([^/]+)/history$`)

/**
 * The request below the base address in its one spelling: known parameters only, sorted by name, with minimal escapes. Null
 * where it is none of the nine paths, or cannot be decoded.
 */
export function fundTarget(target: string): string | null {
  const [path = '', ...rest] = target.split('?')
  const known = parametersOf(path)
  if (known === null) return null
  const given = [...new URLSearchParams(rest.join('?'))].filter(([name]) => known.includes(name))
  const parameters = new URLSearchParams(given)
  parameters.sort()
  return parameters.size === 0 ? decodeURIComponent(path) : `${decodeURIComponent(path)}?${parameters}`
}

/** The `pageSize` of a request; null where it has none. */
export function pageSizeOf(target: string): number | null {
  const text = new URLSearchParams(target.split('?')[1] ?? '').get('pageSize')
  return text === null ? null : Number(text)
}

/** The names of the parameters of a path; null where it is not a fund path. */
function parametersOf(path: string): readonly string[] | null {
  if (path === '/nav') return LIST
  const single = SINGLE.exec(path)?.[1]
  const past = PAST.exec(path)?.[1]
  const identifier = decoded(single ?? past ?? '')
  if (identifier === null || !IDENTIFIER.test(identifier)) return null
  return single === undefined ? HISTORY : []
}

function decoded(segment: string): string | null {
  try {
    return decodeURIComponent(segment)
  } catch {
    return null
  }
}
