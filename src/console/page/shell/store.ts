/** Holds one value that components follow: each repaints when it is set to another. */
import { useEffect, useReducer } from 'preact/hooks'

/** A value with followers. */
export interface Store<T> {
  get(): T
  /** Calls the followers unless the value is the same. */
  set(next: T): void
  /** Returns the end of following. */
  follow(follower: () => void): () => void
}

/** A store with this value. */
export function createStore<T>(initial: T): Store<T> {
  let value = initial
  const followers = new Set<() => void>()
  return {
    get: () => value,
    set(next) {
      if (Object.is(next, value)) return
      value = next
      for (const follower of [...followers]) follower()
    },
    follow(follower) {
      followers.add(follower)
      return () => followers.delete(follower)
    },
  }
}

/** The value of the store in a component, which repaints when it changes. */
export function useStore<T>(store: Store<T>): T {
  const [, repaint] = useReducer((count: number, _: undefined) => count + 1, 0)
  const drawn = store.get()
  useEffect(() => {
    // It may have changed between drawing and following.
    if (!Object.is(store.get(), drawn)) repaint(undefined)
    return store.follow(() => repaint(undefined))
  }, [store])
  return drawn
}
