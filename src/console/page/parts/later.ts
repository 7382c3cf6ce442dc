/** Draws a component whose code is loaded when it is first shown, so that the page itself is there soon. */
import { type ComponentChildren, type ComponentType, h } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { ProblemNote } from './state.ts'

/** The component, by a way to load it that never changes. */
export function later<Props extends object>(
  load: () => Promise<ComponentType<Props>>,
): (props: Props) => ComponentChildren {
  return (props) => {
    const [loaded, setLoaded] = useState<{ shown: ComponentType<Props> } | 'failed' | null>(null)
    useEffect(() => {
      load().then(
        (shown) => setLoaded({ shown }),
        () => setLoaded('failed'),
      )
    }, [])
    if (loaded === 'failed') return h(ProblemNote, { problem: NOT_LOADED })
    return loaded === null ? null : h(loaded.shown, props)
  }
}

const NOT_LOADED = {
  detail: 'This part of the page could not be loaded: the bridge is away, or has been updated since',
  hint: 'Load the page again.',
}
