/** Draws what surrounds every screen: navigation, the state of the bridge, the menu, and a banner when the bridge is gone. */
import { type ComponentChildren, h } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { glanceOf, overallTone } from '../parts/glance/glance-words.ts'
import { StateMark, StateShape } from '../parts/state.ts'
import { inWholeSeconds, shortMoment } from '../parts/times.ts'
import { HelpDialog } from './help.ts'
import type { Shortcut } from './keys.ts'
import { Menu, Unlocked } from './menu.ts'
import { navigation } from './navigation.ts'
import { hrefOf, type ScreenName } from './router.ts'
import { useConsole, useNow } from './services.ts'
import { useStore } from './store.ts'
import { UnlockDialog } from './unlock.ts'
import { useShortcuts } from './use-shortcuts.ts'

/** The frame. `names`: the screens that there are. */
export function Frame({
  names,
  children,
}: {
  names: readonly ScreenName[]
  children?: ComponentChildren
}): ComponentChildren {
  const { router } = useConsole()
  const [open, setOpen] = useState<'help' | 'unlock' | null>(null)
  const entries = navigation.filter(({ screen }) => names.includes(screen))
  useShortcuts([
    ...entries.map(({ key, name, screen }): Shortcut => {
      return { keys: `g ${key}`, group: 'Go to', does: name, run: () => router.go(hrefOf(screen)) }
    }),
    { keys: '?', group: 'Everywhere', does: 'Show this help', run: () => setOpen('help') },
  ])
  const close = (): void => setOpen(null)
  return h(
    'div',
    { class: 'frame' },
    h('a', { class: 'skip', href: '#main', onClick: focusMain }, 'Skip to the content'),
    h(Bar, { entries, onHelp: () => setOpen('help'), onUnlock: () => setOpen('unlock') }),
    h(GoneBanner, null),
    h(Main, null, children),
    open === 'help' && h(HelpDialog, { onClose: close }),
    open === 'unlock' && h(UnlockDialog, { onClose: close }),
  )
}

function focusMain(event: Event): void {
  event.preventDefault()
  document.getElementById('main')?.focus()
}

/** The screen. Where it changes the focus goes to it, so that the next Tab and a screen reader begin there. */
function Main({ children }: { children?: ComponentChildren }): ComponentChildren {
  const { router } = useConsole()
  const { screen, id } = useStore(router.current)
  const main = useRef<HTMLElement>(null)
  const isFirst = useRef(true)
  useEffect(() => {
    if (!isFirst.current) main.current?.focus({ preventScroll: true })
    isFirst.current = false
    window.scrollTo(0, 0)
  }, [screen, id])
  return h(
    'main',
    { id: 'main', ref: main, tabIndex: -1, class: `screen screen-${screen ?? 'none'}` },
    children,
  )
}

function Bar({
  entries,
  onHelp,
  onUnlock,
}: {
  entries: typeof navigation
  onHelp: () => void
  onUnlock: () => void
}): ComponentChildren {
  const { router } = useConsole()
  const { screen } = useStore(router.current)
  return h(
    'header',
    { class: 'bar' },
    h('a', { class: 'brand', href: hrefOf('home') }, 'disclosure-bridge'),
    h(
      'nav',
      { 'aria-label': 'Screens' },
      h(
        'ul',
        null,
        entries.map((entry) =>
          h(
            'li',
            { key: entry.screen },
            h(
              'a',
              { href: hrefOf(entry.screen), 'aria-current': entry.screen === screen ? 'page' : undefined },
              entry.name,
            ),
          ),
        ),
      ),
    ),
    h(BridgeState, null),
    h(Unlocked, null),
    h(Menu, { onHelp, onUnlock }),
  )
}

const overallWords = { good: 'Working', notice: 'Look here', bad: 'Trouble', idle: 'Asking' } as const

/** The state of the bridge in a word; leads to the screen with the details. */
function BridgeState(): ComponentChildren {
  const { status } = useConsole()
  const nowMs = useNow()
  const tone = overallTone(glanceOf(useStore(status.reported), nowMs))
  return h(
    'a',
    { class: 'bridge-state', href: hrefOf('status') },
    h('span', { class: 'off-screen' }, 'State of the bridge: '),
    h(StateMark, { tone }, overallWords[tone]),
  )
}

/** Says that the bridge does not answer, since when, and how old everything on the page is. */
function GoneBanner(): ComponentChildren {
  const { status } = useConsole()
  const { problem, failingSinceMs, atMs } = useStore(status.reported)
  const nowMs = useNow()
  if (problem === null || problem.kind === 'signed_out' || failingSinceMs === null) return null
  return h(
    'div',
    { class: 'banner', role: 'alert' },
    h(StateShape, { tone: 'bad' }),
    h(
      'p',
      null,
      h('strong', null, problem.detail),
      // A live region that changed each second would be read out each second.
      h(
        'span',
        { 'aria-live': 'off' },
        ` No answer for ${inWholeSeconds(nowMs - failingSinceMs)}.`,
        atMs === null ? '' : ` What this page shows is from ${shortMoment(atMs, nowMs)}.`,
        ' It goes on asking.',
      ),
    ),
  )
}
