/** Reads the screen, its id and its query from the address, and changes the address. What a screen shows is in it. */
import { createStore, type Store } from './store.ts'

/** The screens, by the first part of their path below `/console/`; `home` has none. */
export const screenNames = [
  'home',
  'feed',
  'day',
  'quota',
  'webhooks',
  'streams',
  'tokens',
  'status',
  'item',
] as const
export type ScreenName = (typeof screenNames)[number]

/** Where the page is. */
export interface PageRoute {
  /** null: no screen has this path. */
  screen: ScreenName | null
  /** What follows the screen's name in the path, decoded: `…/item/<id>`. */
  id: string | null
  query: URLSearchParams
}

/** The address and its changes. */
export interface Router {
  current: Store<PageRoute>
  /** Goes to an address of the console; `replace` leaves no entry in the history. */
  go(href: string, how?: 'push' | 'replace'): void
  /** Sets query parameters of the present address, in place; null removes one. */
  setQuery(changes: Readonly<Record<string, string | null>>): void
}

const BASE = '/console/'

/** The address of a screen. */
export function hrefOf(
  screen: ScreenName,
  id: string | null = null,
  query: Readonly<Record<string, string | null | undefined>> = {},
): string {
  const path = screen === 'home' ? BASE : `${BASE}${screen}${id === null ? '' : `/${encodeURIComponent(id)}`}`
  const parameters = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    if (value !== null && value !== undefined) parameters.set(name, value)
  }
  return parameters.size === 0 ? path : `${path}?${parameters}`
}

/** Where an address leads. */
export function readRoute(url: URL): PageRoute {
  const [name = '', ...rest] = url.pathname.replace(BASE, '').split('/')
  const screen = name === '' ? 'home' : (screenNames.find((known) => known === name) ?? null)
  return { screen, id: decoded(rest.join('/')), query: url.searchParams }
}

function decoded(text: string): string | null {
  if (text === '') return null
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** Follows this window's address and makes clicks on the console's own links change it without loading a page. */
export function startRouter(page: Window): Router {
  const here = (): URL => new URL(page.location.href)
  const current = createStore(readRoute(here()))
  const go = (href: string, how: 'push' | 'replace' = 'push'): void => {
    const method = how === 'push' ? 'pushState' : 'replaceState'
    page.history[method](null, '', href)
    current.set(readRoute(here()))
  }
  page.addEventListener('popstate', () => current.set(readRoute(here())))
  page.document.addEventListener('click', (event) => {
    const link = ownLink(event)
    if (link === null) return
    event.preventDefault()
    go(link)
  })
  return {
    current,
    go,
    setQuery(changes) {
      const url = here()
      for (const [name, value] of Object.entries(changes)) {
        if (value === null) url.searchParams.delete(name)
        else url.searchParams.set(name, value)
      }
      go(`${url.pathname}${url.search}`, 'replace')
    },
  }
}

/** The address of the console's link that this click follows in this window; null for any other click. */
function ownLink(event: MouseEvent): string | null {
  const isPlain = event.button === 0 && !event.ctrlKey && !event.metaKey && !event.shiftKey && !event.altKey
  if (!isPlain || event.defaultPrevented || !(event.target instanceof Element)) return null
  const link = event.target.closest('a')
  if (link === null || link.target === '_blank' || link.hasAttribute('download')) return null
  if (link.origin !== location.origin || !link.pathname.startsWith(BASE) || link.hash !== '') return null
  return `${link.pathname}${link.search}`
}
