/** Starts the console in the browser: builds its services and renders it into `#app`. */
import { h, render } from 'preact'
import { screenLoaders } from './screens.ts'
import { createConsoleApi } from './shell/api.ts'
import { App } from './shell/app.ts'
import { pageClock } from './shell/clock.ts'
import { createShortcuts } from './shell/keys.ts'
import { openPreferences } from './shell/preferences.ts'
import { startRouter } from './shell/router.ts'
import { type ConsoleServices, ServicesContext } from './shell/services.ts'
import { codeOf, createSession, watchUnlock } from './shell/session.ts'
import { createStatusWatch } from './shell/status-watch.ts'
import { createStore } from './shell/store.ts'
import { watchVisibility } from './shell/visibility.ts'

const TICK_MS = 1000

/** Builds the services; `api` and `session` know each other. */
function startServices(page: Window): ConsoleServices {
  const clock = pageClock
  const visibility = watchVisibility(page.document)
  const preferences = openPreferences(page)
  const api = createConsoleApi(clock, () => session.ended())
  const session = createSession(() => api)
  const ticks = createStore(clock.now())
  const shortcuts = createShortcuts(clock, preferences.hasShortcuts.get())
  const router = startRouter(page)
  const status = createStatusWatch(api, clock, visibility)
  const tick = (): void => {
    if (visibility.get()) ticks.set(clock.now() + api.aheadMs())
    clock.after(TICK_MS, tick)
  }
  visibility.follow(() => ticks.set(clock.now() + api.aheadMs()))
  tick()
  watchUnlock(session, ticks)
  page.addEventListener('keydown', (event) => shortcuts.handle(event))
  return { api, clock, preferences, router, session, shortcuts, status, ticks, visibility }
}

/** Shows the chosen colours; without a choice those of the system. */
function applyTheme({ preferences: { theme } }: ConsoleServices, root: HTMLElement): void {
  const apply = (): void => {
    if (theme.get() === 'system') delete root.dataset.theme
    else root.dataset.theme = theme.get()
  }
  theme.follow(apply)
  apply()
}

const place = document.getElementById('app')
if (place !== null) {
  const { hash, pathname, search } = location
  // A link's code works once, and belongs into no history.
  if (hash !== '') history.replaceState(null, '', `${pathname}${search}`)
  // A link that is opened where the page is open already changes the fragment only.
  window.addEventListener('hashchange', () => {
    if (codeOf(location.hash) !== null) location.reload()
  })
  const services = startServices(window)
  applyTheme(services, document.documentElement)
  const opened = document.querySelector<HTMLMetaElement>('meta[name="opened"]')?.content
  const app = h(App, { loaders: screenLoaders, code: codeOf(hash), isDirect: opened === 'directly' })
  render(h(ServicesContext.Provider, { value: services }, app), place)
}
