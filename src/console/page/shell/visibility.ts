/** Tells whether somebody can see the page: a hidden one sends no requests. */
import { createStore, type Store } from './store.ts'

/** Whether the page is visible. */
export type Visibility = Store<boolean>

/** Follows the document's visibility. */
export function watchVisibility(page: Document): Visibility {
  const isVisible = (): boolean => page.visibilityState === 'visible'
  const visibility = createStore(isVisible())
  page.addEventListener('visibilitychange', () => visibility.set(isVisible()))
  return visibility
}
