/** Leads through a long list of the API page by page, so that no screen asks for all of it at once. */
import { type ComponentChildren, h } from 'preact'
import { useState } from 'preact/hooks'

/** Where the reader is. */
export interface Pages {
  /** For the request; null on the first page. */
  after: string | null
  /** Both buttons; nothing where the list has one page. `next`: of the page that is shown. */
  buttons: (next: string | null, words: { back: string; on: string }) => ComponentChildren
  /** Back to the first page. */
  reset: () => void
}

/** Begins with the first page. */
export function usePages(): Pages {
  const [places, setPlaces] = useState<readonly string[]>([])
  return {
    after: places.at(-1) ?? null,
    reset: () => setPlaces([]),
    buttons: (next, { back, on }) =>
      (places.length > 0 || next !== null) &&
      h(
        'div',
        { class: 'buttons' },
        h(
          'button',
          { type: 'button', disabled: places.length === 0, onClick: () => setPlaces(places.slice(0, -1)) },
          back,
        ),
        h(
          'button',
          {
            type: 'button',
            disabled: next === null,
            onClick: () => next !== null && setPlaces([...places, next]),
          },
          on,
        ),
      ),
  }
}
