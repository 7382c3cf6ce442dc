/** Builds what the public listener serves for the role `console`: the page, and the sessions of browsers. */
import type { Mount } from '../http/app.ts'
import { settingsCaller } from '../http/auth.ts'
import type { RateLimits } from '../http/rate-limits.ts'
import type { AnyRoute } from '../http/route.ts'
import { consoleMounts } from './page-router.ts'
import { createPageSource } from './page-source.ts'
import { linkOf, type SessionRoutesOptions, sessionRoutes } from './session-routes.ts'

/** What the role works with. */
export interface ConsoleParts extends Omit<SessionRoutesOptions, 'onLink'> {
  rates: RateLimits
  /** Aborts when the process begins to stop. */
  stopping: AbortSignal
}

/** What the role serves. */
export interface Console {
  routes: readonly AnyRoute[]
  mounts: readonly Mount[]
  /** The path of a link with which the token of the settings signs in once, within this time; null without the role. */
  link: ((lifeMs: number) => string) | null
}

/** The console of a process without the role. */
export const NO_CONSOLE: Console = { routes: [], mounts: [], link: null }

/** The console. Its page is built at the first request for it, or for a link to it. */
export function createConsole(parts: ConsoleParts): Console {
  const { clock, logger, stopping, rates } = parts
  const page = createPageSource({ clock, logger, stopping })
  // Whoever asks for a link opens it next. A build that fails is in the log, and tried again then.
  const onLink = (): void => void page().catch(() => undefined)
  return {
    routes: sessionRoutes({ ...parts, onLink }),
    mounts: consoleMounts({ page, isSignedIn: parts.sessions.isSignedIn, rates }),
    link(lifeMs) {
      onLink()
      return linkOf(parts.sessions.links.give(settingsCaller, lifeMs).ticket)
    },
  }
}
