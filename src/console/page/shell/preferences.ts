/** Keeps what the reader chose for this browser: theme, shortcuts, sound, named filters. Never a token, nor anything of the bridge's. */
import { createStore, type Store } from './store.ts'

/** Colours: the system's, or one of the two. */
export const themes = ['system', 'light', 'dark'] as const
export type Theme = (typeof themes)[number]

/** From which importance on a new announcement is signalled. */
export const alertLevels = ['off', 'ultra', 'high', 'medium', 'low'] as const
export type AlertLevel = (typeof alertLevels)[number]

/** What was chosen. */
export interface Preferences {
  theme: Store<Theme>
  hasShortcuts: Store<boolean>
  alertFrom: Store<AlertLevel>
  /** Whether the signal is heard; it is always in the title. */
  hasSound: Store<boolean>
  /** The named filters, as `parts/filter/named-filters.ts` writes them. */
  filters: Store<string>
}

const PREFIX = 'disclosure-bridge.'

/** Reads the choices of this browser, and stores each change. Where storage is refused they last as long as the page. */
export function openPreferences(page: Window): Preferences {
  return {
    theme: kept(page, 'theme', themes, 'system'),
    hasShortcuts: keptFlag(page, 'shortcuts', true),
    alertFrom: kept(page, 'alert', alertLevels, 'off'),
    hasSound: keptFlag(page, 'sound', true),
    filters: keptText(page, 'filters'),
  }
}

function kept<T extends string>(page: Window, name: string, values: readonly T[], otherwise: T): Store<T> {
  const stored = read(page, name)
  const store = createStore(values.find((value) => value === stored) ?? otherwise)
  store.follow(() => write(page, name, store.get()))
  return store
}

function keptFlag(page: Window, name: string, otherwise: boolean): Store<boolean> {
  const stored = read(page, name)
  const store = createStore(stored === null ? otherwise : stored === 'true')
  store.follow(() => write(page, name, `${store.get()}`))
  return store
}

/** Another tab may change it too: its text counts then, so that neither loses what the other kept. */
function keptText(page: Window, name: string): Store<string> {
  const store = createStore(read(page, name) ?? '')
  // What was read from there is not written back: the other tab may have gone on meanwhile.
  store.follow(() => {
    if (store.get() !== (read(page, name) ?? '')) write(page, name, store.get())
  })
  page.addEventListener('storage', ({ key }) => {
    // A key of null: everything was cleared. The event comes late; what counts is there now.
    if (key === PREFIX + name || key === null) store.set(read(page, name) ?? '')
  })
  return store
}

function read(page: Window, name: string): string | null {
  try {
    return page.localStorage.getItem(PREFIX + name)
  } catch {
    return null
  }
}

function write(page: Window, name: string, value: string): void {
  try {
    page.localStorage.setItem(PREFIX + name, value)
  } catch {
    // A browser without storage: the choice lasts as long as the page.
  }
}
