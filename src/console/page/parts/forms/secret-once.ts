/** Shows a secret that the bridge shows once, until the reader says that it is stored. */
import { type ComponentChildren, h } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { CopyButton } from '../copy.ts'
import { StateShape } from '../state.ts'

/** The secret. `name`: what it is, e.g. "The secret of …"; `children`: what to do with it. */
export function SecretOnce({
  name,
  secret,
  onStored,
  children,
}: {
  name: ComponentChildren
  secret: string
  onStored: () => void
  children?: ComponentChildren
}): ComponentChildren {
  const head = useRef<HTMLHeadingElement>(null)
  // It is the only place where the secret is: nobody should have to look for it.
  useEffect(() => head.current?.focus(), [secret])
  return h(
    'section',
    { class: 'panel secret-once', 'aria-label': 'Shown once' },
    h('h2', { ref: head, tabIndex: -1 }, h(StateShape, { tone: 'notice' }), ' ', name),
    h('p', null, 'Copy it now: it is shown this once, and the bridge cannot show it again.'),
    h(
      'p',
      { class: 'secret-text' },
      h('code', null, secret),
      ' ',
      h(CopyButton, { text: secret, what: 'the secret' }),
    ),
    children,
    h('div', { class: 'buttons' }, h('button', { type: 'button', onClick: onStored }, 'I have stored it')),
  )
}
