/**
 * Reads and writes requests to upstream's nine paths for fund and investor-relations data (upstream specification §4.4).
 * Equal requests have one spelling, so that they share a cached reply.
 */

/** The resources; the first three have a history. */
export const fundResources = ['nav', 'buybacks', 'dividends', 'events', 'performance'] as const
/** One of them. */
export type FundResource = (typeof fundResources)[number]

/** A request to one of the nine paths. */
export interface FundRequest {
  resource: FundResource
  /** An ISIN, a symbol, or `<MIC>:<symbol>`; null: all instruments, for the latest NAVs only. */
  identifier: string | null
  /** Of `nav`, `buybacks` and `dividends`. */
  history: boolean
  /** Of the latest NAVs. `isin` is the repeated form of `isins`. */
  isins?: readonly string[]
  isin?: readonly string[]
  sinceCursor?: string
  /** Of the latest NAVs and of histories; pages count from 1. */
  pageNumber?: number
  pageSize?: number
  /** Of histories: partial dates, as in the list of announcements. */
  dateFrom?: string
  dateTo?: string
}

/**
 * A letter or digit, then characters that stand in a path as they are (RFC 3986 §3.3) and mean nothing there: no `/`, no `;`, no
 * escape, no `..` in front.
 */
const IDENTIFIER = /^[A-Za-z0-9][\w.~!$&'()*+,=:@-]{0,63}$/
const SINGLE = new RegExp(`^/(${fundResources.join('|')})/([^/]+)$`)
const PAST = new RegExp(`^/(${fundResources.slice(0, 3).join('|')})/([^/]+)/history$`)
const WHOLE_NUMBER = /^\d{1,15}$/

/** Whether a decoded segment may be an instrument's identifier upstream: it is safe in a path. */
export function isFundIdentifier(text: string): boolean {
  return IDENTIFIER.test(text)
}

/**
 * The request in a target below the base address, whose path may end with a slash; null where it is none of the nine paths,
 * or cannot be read.
 */
export function readFundTarget(target: string): FundRequest | null {
  const [sentPath = '', ...rest] = target.split('?')
  const path = sentPath.replace(/\/$/, '')
  const given = new URLSearchParams(rest.join('?'))
  const page = pageOf(given)
  if (path === '/nav') {
    if (page === null) return null
    const isins = given.getAll('isins').flatMap((list) => list.split(','))
    const isin = given.getAll('isin')
    return {
      ...{ resource: 'nav', identifier: null, history: false },
      ...(isins.length > 0 && { isins }),
      ...(isin.length > 0 && { isin }),
      ...textIn(given, 'sinceCursor'),
      ...page,
    }
  }
  const [, resource, segment = ''] = PAST.exec(path) ?? SINGLE.exec(path) ?? []
  const identifier = decoded(segment)
  if (identifier === null || !isFundIdentifier(identifier)) return null
  const named = { resource: resource as FundResource, identifier }
  if (!PAST.test(path)) return { ...named, history: false }
  if (page === null) return null
  return { ...named, history: true, ...textIn(given, 'dateFrom'), ...textIn(given, 'dateTo'), ...page }
}

/** The target of a request in its one spelling: parameters sorted by name. */
export function fundTarget({ resource, identifier, history, isins, isin, ...others }: FundRequest): string {
  const parameters = new URLSearchParams(isins === undefined ? {} : { isins: isins.join(',') })
  for (const one of isin ?? []) parameters.append('isin', one)
  for (const [name, value] of Object.entries(others)) {
    if (value !== undefined) parameters.set(name, value.toString())
  }
  parameters.sort()
  const path = ['', resource, ...(identifier === null ? [] : [identifier]), ...(history ? ['history'] : [])]
  return parameters.size === 0 ? path.join('/') : `${path.join('/')}?${parameters}`
}

/** Null where a number is none. */
function pageOf(given: URLSearchParams): Pick<FundRequest, 'pageNumber' | 'pageSize'> | null {
  const page: Pick<FundRequest, 'pageNumber' | 'pageSize'> = {}
  for (const name of ['pageNumber', 'pageSize'] as const) {
    const text = given.get(name)
    if (text === null) continue
    if (!WHOLE_NUMBER.test(text)) return null
    page[name] = Number(text)
  }
  return page
}

function textIn<Name extends string>(given: URLSearchParams, name: Name): { [name in Name]?: string } {
  const text = given.get(name)
  return text === null ? {} : ({ [name]: text } as { [name in Name]: string })
}

function decoded(segment: string): string | null {
  try {
    return decodeURIComponent(segment)
  } catch {
    return null
  }
}
