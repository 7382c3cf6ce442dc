/** Lets links go to http and https addresses only, and tells the target nothing about this page. */
import { type ComponentChildren, h } from 'preact'
import { visibleText } from './text.ts'

const LONGEST = 2048

/** The address if a link may go there; null for any other text, such as `javascript:…`, and for one with a password. */
export function safeHref(text: unknown): string | null {
  if (typeof text !== 'string' || text.length > LONGEST || !URL.canParse(text)) return null
  const url = new URL(text)
  const isOpen = /^https?:$/.test(url.protocol) && url.username === '' && url.password === ''
  return isOpen ? url.href : null
}

/**
 * A link to another site, in a new tab; only its text where the address is not safe.
 * @public for screens to come
 */
export function OutLink({ href, text }: { href: unknown; text: string }): ComponentChildren {
  const safe = safeHref(href)
  const shown = visibleText(text)
  if (safe === null) return h('bdi', { class: 'foreign', title: 'This address is no link.' }, shown)
  const rel = 'noopener noreferrer'
  return h('a', { href: safe, rel, target: '_blank', referrerpolicy: 'no-referrer' }, h('bdi', null, shown))
}
