/** Gives a component shortcuts of its own. */
import { useEffect } from 'preact/hooks'
import type { Shortcut } from './keys.ts'
import { useConsole } from './services.ts'

/** Adds shortcuts while the component is there. What they do may change from one repaint to the next. */
export function useShortcuts(shortcuts: readonly Shortcut[]): void {
  const { shortcuts: all } = useConsole()
  useEffect(() => all.add(shortcuts))
}
