/** Lists the screens in the order of the navigation, with their names and shortcuts. */
import type { ConsoleApi } from './api.ts'
import type { PageRoute, ScreenName } from './router.ts'
import type { ConsoleSession } from './session.ts'

/** What every screen gets. Other services come from `useConsole`. */
export interface ScreenProps {
  route: PageRoute
  session: ConsoleSession
  api: ConsoleApi
}

/** A screen in the navigation. */
export interface NavigationEntry {
  screen: ScreenName
  name: string
  /** The second key after `g`. */
  key: string
}

/** Every screen but that of one item, to which other screens lead. */
export const navigation: readonly NavigationEntry[] = [
  { screen: 'home', name: 'Overview', key: 'h' },
  { screen: 'feed', name: 'Feed', key: 'f' },
  { screen: 'day', name: 'Days', key: 'd' },
  { screen: 'quota', name: 'Quota', key: 'q' },
  { screen: 'webhooks', name: 'Webhooks', key: 'w' },
  { screen: 'streams', name: 'Streams', key: 'c' },
  { screen: 'tokens', name: 'Tokens', key: 't' },
  { screen: 'status', name: 'Status', key: 's' },
]
