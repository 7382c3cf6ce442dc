/** Lets a screen change things: where the session may only read, it says so, and asks for the token before the change. */
import { type ComponentChildren, h } from 'preact'
import { useState } from 'preact/hooks'
import { useConsole } from '../../shell/services.ts'
import { useStore } from '../../shell/store.ts'
import { UnlockDialog } from '../../shell/unlock.ts'
import type { TokenScope } from '../token-scope.ts'

/** Whether a screen may change what needs a scope, and how it goes about it. */
export interface Changes {
  scope: TokenScope
  may: 'now' | 'locked' | 'never'
  /** Runs at once, or after the session was unlocked. Runs nothing where the token may not. */
  attempt: (run: () => void) => void
  /** To be put into the page. */
  dialog: ComponentChildren
}

/** Changes that need this scope. */
export function useChanges(scope: TokenScope): Changes {
  const { session } = useConsole()
  useStore(session.current)
  const [waiting, setWaiting] = useState<{ run: () => void } | null>(null)
  const onClose = (): void => {
    setWaiting(null)
    if (session.mayChange(scope) === 'now') waiting?.run()
  }
  return {
    scope,
    may: session.mayChange(scope),
    attempt(run) {
      const may = session.mayChange(scope)
      if (may === 'now') run()
      else if (may === 'locked') setWaiting({ run })
    },
    dialog: waiting === null ? null : h(UnlockDialog, { onClose }),
  }
}

/** Says that changes are locked, or that the token has no right to make them; nothing where they can be made. */
export function ChangesNote({
  changes: { may, scope, attempt },
  what,
}: {
  changes: Changes
  /** What cannot be changed, e.g. "webhooks". */
  what: string
}): ComponentChildren {
  if (may === 'now') return null
  if (may === 'never') {
    return h(
      'p',
      { class: 'hint' },
      `The token of this session cannot change ${what}: it lacks the scope `,
      h('code', null, scope),
      '.',
    )
  }
  return h(
    'p',
    { class: 'hint' },
    `This session can only read: changes to ${what} ask for the token first. `,
    h('button', { type: 'button', class: 'quiet', onClick: () => attempt(() => {}) }, 'Unlock changes'),
  )
}
