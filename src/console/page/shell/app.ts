/** Chooses what the page shows: the form to sign in, or the frame with the screen of the address. */
import { type ComponentChildren, type ComponentType, h } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { ErrorBoundary } from '../parts/error-boundary.ts'
import { type Problem, ProblemNote } from '../parts/state.ts'
import { Frame } from './frame.ts'
import { LinkQuestion, LoginScreen } from './login.ts'
import type { ScreenProps } from './navigation.ts'
import { hrefOf, type PageRoute, type ScreenName } from './router.ts'
import { useConsole, useTitle } from './services.ts'
import { openSession } from './session.ts'
import { useStore } from './store.ts'

/** How to load the screens that there are. */
export type ScreenLoaders = Readonly<Partial<Record<ScreenName, () => Promise<ComponentType<ScreenProps>>>>>

/** What the page was opened with: the screens, and a link's code or none; `isDirect`: no other site has led here. */
interface AppProps {
  loaders: ScreenLoaders
  code: string | null
  isDirect: boolean
}

/** The whole page. Asks before it uses a link that another site may have opened. */
export function App(props: AppProps): ComponentChildren {
  return h(ErrorBoundary, null, h(Page, props))
}

function Page({ loaders, code, isDirect }: AppProps): ComponentChildren {
  const [mayUse, answer] = useState(code === null || isDirect ? true : null)
  if (mayUse === null) return h(LinkQuestion, { answer })
  return h(OpenedPage, { loaders, code: mayUse ? code : null })
}

function OpenedPage({ loaders, code }: Pick<AppProps, 'loaders' | 'code'>): ComponentChildren {
  const { session, status, router } = useConsole()
  const signedIn = useStore(session.current)
  const route = useStore(router.current)
  const problem = useOpening(code)
  useEffect(() => {
    if (signedIn.state === 'signed_in') status.start()
    else status.stop()
  }, [signedIn.state])
  if (signedIn.state === 'signed_out') {
    return h(LoginScreen, { why: signedIn.why, problem: signedIn.why === null ? problem : null })
  }
  if (signedIn.state === 'unknown') return h(Opening, { problem })
  return h(
    Frame,
    { names: Object.keys(loaders) as ScreenName[] },
    h(
      ErrorBoundary,
      { place: `${route.screen} ${route.id} ${route.query}` },
      h(Screen, {
        key: route.screen,
        route,
        load: route.screen === null ? undefined : loaders[route.screen],
      }),
    ),
  )
}

/** Signs in by the link's code, or finds the session of the cookie. Returns what to say about it. */
function useOpening(code: string | null): Problem | null {
  const { session, clock, visibility } = useConsole()
  const [shown, setShown] = useState<Problem | null>(null)
  useEffect(() => {
    let cancel = (): void => {}
    let isOver = false
    let isWaiting = false
    const open = async (isFirst: boolean): Promise<void> => {
      // Nothing is asked for while nobody looks, but a link's code, which is good for a minute, is used at once.
      isWaiting = !visibility.get() && !(isFirst && code !== null)
      if (isWaiting) return
      const { problem, againInMs } = await openSession(session, code)
      if (isOver) return
      setShown(problem)
      if (againInMs !== null) cancel = clock.after(againInMs, () => void open(false))
    }
    const unfollow = visibility.follow(() => {
      if (isWaiting) void open(false)
    })
    void open(true)
    return () => {
      isOver = true
      cancel()
      unfollow()
    }
  }, [])
  return shown
}

function Opening({ problem }: { problem: Problem | null }): ComponentChildren {
  return h(
    'main',
    { class: 'login', 'aria-busy': problem === null },
    h('h1', null, 'disclosure-bridge'),
    problem !== null && h(ProblemNote, { problem }),
  )
}

/** A screen that is loaded when it is first shown. */
function Screen({
  route,
  load,
}: {
  route: PageRoute
  load: (() => Promise<ComponentType<ScreenProps>>) | undefined
}): ComponentChildren {
  const { session, api } = useConsole()
  const [loaded, setLoaded] = useState<{ screen: ComponentType<ScreenProps> | null; failed: boolean }>({
    screen: null,
    failed: false,
  })
  useEffect(() => {
    load?.().then(
      (screen) => setLoaded({ screen, failed: false }),
      () => setLoaded({ screen: null, failed: true }),
    )
  }, [])
  if (load === undefined) return h(NoScreen, null)
  if (loaded.failed) return h(Outdated, null)
  return loaded.screen === null ? null : h(loaded.screen, { route, session, api })
}

function NoScreen(): ComponentChildren {
  useTitle('No such page')
  return [
    h('h1', null, 'No such page'),
    h('p', null, 'The console has no screen at this address. ', h('a', { href: hrefOf('home') }, 'Overview')),
  ]
}

function Outdated(): ComponentChildren {
  useTitle('Load again')
  return [
    h('h1', null, 'This screen could not be loaded'),
    h('p', null, 'The bridge is away, or has been updated since this page was opened.'),
    h(
      'button',
      { type: 'button', class: 'primary', onClick: () => location.reload() },
      'Load the page again',
    ),
  ]
}
