/** The menu at the end of the bar: who is signed in, colours, shortcuts, unlocking changes and signing out. */
import { type ComponentChildren, h } from 'preact'
import { useRef, useState } from 'preact/hooks'
import { type Problem, ProblemNote, StateMark } from '../parts/state.ts'
import { Foreign } from '../parts/text.ts'
import { inWholeSeconds, Moment, millisOf } from '../parts/times.ts'
import { type Theme, themes } from './preferences.ts'
import { useConsole, useNow } from './services.ts'
import { useStore } from './store.ts'

/** The menu. */
export function Menu({ onHelp, onUnlock }: { onHelp: () => void; onUnlock: () => void }): ComponentChildren {
  const { session, preferences } = useConsole()
  const signedIn = useStore(session.current)
  const theme = useStore(preferences.theme)
  const menu = useRef<HTMLDetailsElement>(null)
  const [problem, setProblem] = useState<Problem | null>(null)
  const close = (): void => {
    if (menu.current !== null) menu.current.open = false
  }
  const closing =
    (then: () => void): (() => void) =>
    () => {
      close()
      then()
    }
  const signOut = async (): Promise<void> => {
    const failed = await session.signOut()
    setProblem(failed === null ? null : { ...failed, hint: 'You are still signed in.' })
  }
  if (signedIn.state !== 'signed_in') return null
  const { me } = signedIn
  const { session: facts } = me
  const canUnlock =
    facts?.unlockedUntil === null && facts.tokenScopes.some((scope) => !me.scopes.includes(scope))
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key !== 'Escape') return
    close()
    menu.current?.querySelector('summary')?.focus()
  }
  const onFocusOut = (event: FocusEvent): void => {
    if (event.relatedTarget instanceof Node && !menu.current?.contains(event.relatedTarget)) close()
  }
  return h(
    'details',
    { class: 'menu', ref: menu, onKeyDown, onFocusOut },
    h('summary', null, 'Menu'),
    h(
      'div',
      { class: 'menu-body' },
      h(
        'p',
        null,
        'Signed in as ',
        h('strong', null, h(Foreign, { text: me.name ?? me.tokenId })),
        ' of ',
        h(Foreign, { text: me.tenant }),
        me.session !== undefined && [', until ', h(Moment, { iso: me.session.expiresAt })],
      ),
      h(
        'label',
        null,
        'Colours ',
        h(
          'select',
          {
            value: theme,
            onChange: (event: Event) =>
              preferences.theme.set((event.currentTarget as HTMLSelectElement).value as Theme),
          },
          themes.map((name) => h('option', { key: name, value: name }, themeWords[name])),
        ),
      ),
      h('button', { type: 'button', onClick: closing(onHelp) }, 'Shortcuts'),
      canUnlock && h('button', { type: 'button', onClick: closing(onUnlock) }, 'Unlock changes'),
      h('button', { type: 'button', onClick: () => void signOut() }, 'Sign out'),
      problem !== null && h(ProblemNote, { problem }),
    ),
  )
}

/** Says that changes are unlocked, and for how long. */
export function Unlocked(): ComponentChildren {
  const { session } = useConsole()
  const nowMs = useNow()
  const signedIn = useStore(session.current)
  const untilMs = signedIn.state === 'signed_in' ? millisOf(signedIn.me.session?.unlockedUntil) : null
  if (untilMs === null || untilMs <= nowMs) return null
  return h(
    'span',
    { class: 'unlocked' },
    h(StateMark, { tone: 'notice' }, `Changes unlocked for ${inWholeSeconds(untilMs - nowMs)}`),
  )
}

const themeWords: Readonly<Record<Theme, string>> = {
  system: 'as the system',
  light: 'light',
  dark: 'dark',
}
