/** Hands the services of the page to every component: clock, address, requests, shortcuts, session and preferences. */
import { createContext } from 'preact'
import { useContext, useEffect } from 'preact/hooks'
import { visibleText } from '../parts/text.ts'
import type { ConsoleApi } from './api.ts'
import type { PageClock } from './clock.ts'
import type { Shortcuts } from './keys.ts'
import type { Preferences } from './preferences.ts'
import type { Router } from './router.ts'
import type { ConsoleSession } from './session.ts'
import type { StatusWatch } from './status-watch.ts'
import { type Store, useStore } from './store.ts'
import type { Visibility } from './visibility.ts'

/** What components work with. */
export interface ConsoleServices {
  api: ConsoleApi
  clock: PageClock
  preferences: Preferences
  router: Router
  session: ConsoleSession
  shortcuts: Shortcuts
  status: StatusWatch
  /** The bridge's present, ms since 1970; changes each second while the page is visible. */
  ticks: Store<number>
  visibility: Visibility
}

/** Provides the services. */
export const ServicesContext = createContext<ConsoleServices | null>(null)

/** The services, in a component. */
export function useConsole(): ConsoleServices {
  const services = useContext(ServicesContext)
  if (services === null) throw new Error('a component outside the console')
  return services
}

/** The bridge's present in a component that repaints each second. */
export function useNow(): number {
  return useStore(useConsole().ticks)
}

/**
 * Upstream's clock in a component: its present, by which announcements are dated, and by how much it is ahead of the
 * bridge's, ms; 0 while that is not known.
 */
export function useUpstreamClock(): { nowMs: number; aheadMs: number } {
  const { status } = useConsole()
  const aheadMs = useStore(status.reported).status?.upstream.aheadMs ?? 0
  return { nowMs: useNow() + aheadMs, aheadMs }
}

/** Sets the title of the document while the component is there; a headline may be part of it. */
export function useTitle(title: string): void {
  useEffect(() => {
    document.title = `${visibleText(title)} · disclosure-bridge`
  }, [title])
}
