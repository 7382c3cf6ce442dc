/**
 * Runs shortcuts: single keys such as `j`, and two keys one after the other such as `g f`. They rest while somebody types or a
 * dialog is open, and can be switched off, because speech input types letters.
 */
import type { PageClock } from './clock.ts'
import { createStore, type Store } from './store.ts'

/** What a key does. */
export interface Shortcut {
  /** As the help shows it: `j`, `?`, `Space`, `Esc`, `Enter`, or `g f` for one after the other. */
  keys: string
  /** The heading in the help. */
  group: string
  /** For the help, e.g. "Pause or go on". */
  does: string
  run(event: KeyboardEvent): void
}

/** The shortcuts of the page. */
export interface Shortcuts {
  /** Those added last come first. Returns their end. */
  add(shortcuts: readonly Shortcut[]): () => void
  /** All of them, in the order in which they were added. */
  all(): readonly Shortcut[]
  isOn: Store<boolean>
  handle(event: KeyboardEvent): void
}

const SECOND_KEY_MS = 1500
const names: Readonly<Record<string, string>> = { ' ': 'Space', Escape: 'Esc' }

/** The shortcuts of a page that has none yet. */
export function createShortcuts(clock: PageClock, isOn: boolean): Shortcuts {
  let groups: (readonly Shortcut[])[] = []
  let first: { key: string; atMs: number } | null = null
  const on = createStore(isOn)
  const find = (keys: string): Shortcut | undefined =>
    groups.toReversed().flatMap((group) => group.filter((shortcut) => shortcut.keys === keys))[0]
  return {
    isOn: on,
    add(shortcuts) {
      groups = [...groups, shortcuts]
      return () => {
        groups = groups.filter((group) => group !== shortcuts)
      }
    },
    all: () => groups.flat(),
    handle(event) {
      if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return
      const key = names[event.key] ?? event.key
      if (isTaken(event.target, key) || (!on.get() && key !== 'Esc')) return
      const before = first !== null && clock.now() - first.atMs < SECOND_KEY_MS ? first.key : null
      first = null
      const shortcut = (before === null ? undefined : find(`${before} ${key}`)) ?? find(key)
      if (shortcut === undefined) {
        first = { key, atMs: clock.now() }
        return
      }
      event.preventDefault()
      shortcut.run(event)
    },
  }
}

/** Whether the element needs the key itself. */
function isTaken(target: EventTarget | null, key: string): boolean {
  if (!(target instanceof HTMLElement)) return false
  if (target.closest('dialog') !== null) return true
  const isText =
    target.matches('textarea, select, [contenteditable]') ||
    (target instanceof HTMLInputElement && !/^(checkbox|radio|button|submit)$/.test(target.type))
  if (isText) return key !== 'Esc'
  if (key === 'Space') return target.matches('button, summary, input')
  return key === 'Enter' && target.matches('button, summary, input, a')
}
