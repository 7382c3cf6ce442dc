/** Shows a dialog over the page. The browser keeps the focus inside it and gives it back at the end. */
import { type ComponentChildren, h } from 'preact'
import { useEffect, useId, useRef } from 'preact/hooks'

/** A dialog that is open as long as it is in the page. Esc, its button and a click beside it call `onClose`. */
export function Dialog({
  title,
  onClose,
  children,
}: {
  title: string
  onClose: () => void
  children?: ComponentChildren
}): ComponentChildren {
  const dialog = useRef<HTMLDialogElement>(null)
  const id = useId()
  const isOver = useRef(false)
  useEffect(() => {
    const shown = dialog.current
    if (shown !== null && !shown.open) shown.showModal()
    return () => {
      isOver.current = true
      shown?.close()
    }
  }, [])
  return h(
    'dialog',
    {
      ref: dialog,
      'aria-labelledby': id,
      // Taken out of the page it is closed too, and the browser says so when another may be open already.
      onClose: () => {
        if (!isOver.current) onClose()
      },
      onClick: (event: MouseEvent) => {
        // What is inside has elements of its own: the dialog itself is only its edge and what is behind.
        if (event.target === dialog.current) onClose()
      },
    },
    h(
      'div',
      { class: 'dialog' },
      h(
        'header',
        null,
        h('h2', { id }, title),
        h('button', { type: 'button', class: 'quiet', onClick: onClose, 'aria-label': 'Close' }, '✕'),
      ),
      children,
    ),
  )
}
