/** Loads each screen when it is first shown, so that the first one is there soon. */
import type { ComponentType } from 'preact'
import type { ScreenProps } from './shell/navigation.ts'
import type { ScreenName } from './shell/router.ts'

/** How to load the screens that there are. */
export const screenLoaders: Readonly<Partial<Record<ScreenName, () => Promise<ComponentType<ScreenProps>>>>> =
  {
    home: async () => (await import('./screens/home/home-screen.ts')).HomeScreen,
    feed: async () => (await import('./screens/feed/feed-screen.ts')).FeedScreen,
    item: async () => (await import('./screens/item/item-screen.ts')).ItemScreen,
    day: async () => (await import('./screens/day/day-screen.ts')).DayScreen,
    quota: async () => (await import('./screens/quota/quota-screen.ts')).QuotaScreen,
    webhooks: async () => (await import('./screens/webhooks/webhooks-screen.ts')).WebhooksScreen,
    streams: async () => (await import('./screens/streams/streams-screen.ts')).StreamsScreen,
    tokens: async () => (await import('./screens/tokens/tokens-screen.ts')).TokensScreen,
    status: async () => (await import('./screens/status/status-screen.ts')).StatusScreen,
  }
