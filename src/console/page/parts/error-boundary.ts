/** Shows what to do where a part of the page throws while it is drawn, in the place of a blank page. */
import { type ComponentChildren, h } from 'preact'
import { useEffect, useErrorBoundary } from 'preact/hooks'
import { hrefOf } from '../shell/router.ts'
import { visibleText } from './text.ts'

const HOME = hrefOf('home')

/**
 * Draws its children, or what to do. The browser's console gets the error with its stack. Another `place` is tried anew; without
 * one, around the whole page, its link loads the page.
 */
export function ErrorBoundary({
  place = null,
  children,
}: {
  place?: string | null
  children?: ComponentChildren
}): ComponentChildren {
  const [error, tryAgain] = useErrorBoundary((thrown: unknown) => reportError(thrown))
  useEffect(() => {
    if (error !== undefined) tryAgain()
  }, [place])
  if (error === undefined) return children
  // The address alone would change, below a page that is not drawn.
  const onClick = (event: Event): void => {
    if (place !== null) return
    event.preventDefault()
    location.assign(HOME)
  }
  return h(
    'div',
    { class: 'stack', role: 'alert' },
    h('h1', null, 'This page has a fault'),
    h('p', null, 'The console could not draw what the bridge answered. The bridge itself goes on working.'),
    h('p', null, h('code', null, visibleText(`${error}`))),
    h(
      'ul',
      { class: 'plain' },
      h('li', null, 'If the bridge was updated since this page was opened, load the page again.'),
      h('li', null, 'Other screens may work: ', h('a', { href: HOME, onClick }, 'Overview'), '.'),
      h('li', null, 'Please report it with this text, the address and the version of the bridge.'),
    ),
    h(
      'div',
      { class: 'buttons' },
      h(
        'button',
        { type: 'button', class: 'primary', onClick: () => location.reload() },
        'Load the page again',
      ),
      h('button', { type: 'button', onClick: tryAgain }, 'Try again'),
    ),
  )
}
