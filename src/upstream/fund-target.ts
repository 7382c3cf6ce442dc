/**
 * The nine fund and investor-relations paths of upstream (specification §4.4) as texts. Owns which paths and parameters
 * there are, and one spelling for requests that mean the same. Refuses to judge values: upstream does, or whoever asks.
 */

const RESOURCES = 'nav|buybacks|dividends|events|performance'
const HISTORIES = 'nav|buybacks|dividends'
/** An ISIN, a symbol, or `<MIC>:<symbol>`; so it is never a step up in the path. */
const IDENTIFIER = /^[A-Z0-9][A-Z0-9.:]{0,19}$/

const LIST = ['isin', 'isins', 'pageNumber', 'pageSize', 'sinceCursor']
const HISTORY = ['dateFrom', 'dateTo', 'pageNumber', 'pageSize']
const SINGLE = new RegExp(`^/(?:${RESOURCES})/([^/]+)$`)
const PAST = new RegExp(`^/(?:${HISTORIES})/([^/]+)/history$`)

/**
 * The request below the base address in its one spelling: parameters that mean something, by name, and nothing escaped
 * that need not be. Null where it is none of the nine paths, or cannot be decoded.
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

/** Items a page that a request asks for; null where it does not say. */
export function pageSizeOf(target: string): number | null {
  const text = new URLSearchParams(target.split('?')[1] ?? '').get('pageSize')
  return text === null ? null : Number(text)
}

/** The names of the parameters that a path takes; null where it is no path of funds. */
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
