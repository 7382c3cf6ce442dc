/** A text field that suggests values below it while somebody types; each is chosen by pointer, or by arrows and Enter. */
import { type ComponentChildren, h } from 'preact'
import { useEffect, useId, useRef, useState } from 'preact/hooks'
import { useConsole } from '../shell/services.ts'

/** One suggestion. */
export interface Suggestion<T> {
  key: string
  /** The code or symbol, printed first. */
  code: string
  name: string
  value: T
}

const TYPING_MS = 150
const MOST_SHOWN = 12

/**
 * The field. `suggest` is called after a short pause; `onText` takes what was typed where no suggestion is chosen: at Enter, and
 * where the reader leaves the field, so that no typed text is lost.
 */
export function Combobox<T>({
  label,
  placeholder,
  suggest,
  source,
  onPick,
  onText,
}: {
  label: string
  placeholder: string
  suggest: (text: string) => Promise<readonly Suggestion<T>[]> | readonly Suggestion<T>[]
  /** What the suggestions are made of, where that may arrive after somebody began to type. */
  source?: unknown
  onPick: (value: T) => void
  onText: (text: string) => void
}): ComponentChildren {
  const { clock } = useConsole()
  const id = useId()
  const [text, setText] = useState('')
  const [found, setFound] = useState<readonly Suggestion<T>[]>([])
  const [at, setAt] = useState(-1)
  const { leave, stay } = useLeaving()
  useEffect(() => {
    let isOver = false
    const show = (suggestions: readonly Suggestion<T>[]): void => {
      if (isOver) return
      setFound(suggestions.slice(0, MOST_SHOWN))
      setAt(-1)
    }
    if (text.trim() === '') {
      show([])
      return
    }
    const cancel = clock.after(TYPING_MS, () => void Promise.resolve(suggest(text.trim())).then(show))
    return () => {
      isOver = true
      cancel()
    }
  }, [text, source])
  const clear = (): void => {
    setText('')
    setFound([])
  }
  const pick = (suggestion: Suggestion<T>): void => {
    onPick(suggestion.value)
    clear()
  }
  /** What is marked or written out counts as chosen. */
  const take = (): void => {
    const typed = text.trim()
    if (typed === '') return
    const chosen = found[at] ?? found.find(({ code }) => code.toLowerCase() === typed.toLowerCase())
    if (chosen !== undefined) return pick(chosen)
    onText(typed)
    clear()
  }
  const onKeyDown = (event: KeyboardEvent): void => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step !== undefined && found.length > 0) {
      event.preventDefault()
      const last = found.length - 1
      setAt(step > 0 ? (at === last ? -1 : at + 1) : at === -1 ? last : at - 1)
    } else if (event.key === 'Escape' && text !== '') {
      event.stopPropagation()
      clear()
    } else if (event.key === 'Enter' && text.trim() !== '') {
      event.preventDefault()
      take()
    }
  }
  return h(
    'div',
    { class: 'combobox' },
    h('label', { for: id }, label),
    h('input', {
      id,
      type: 'text',
      role: 'combobox',
      autocomplete: 'off',
      spellcheck: false,
      placeholder,
      value: text,
      'aria-expanded': found.length > 0,
      'aria-controls': `${id}-list`,
      'aria-autocomplete': 'list',
      'aria-activedescendant': at < 0 ? undefined : `${id}-${at}`,
      onInput: (event: Event) => setText((event.currentTarget as HTMLInputElement).value),
      onKeyDown,
      onBlur: (event: FocusEvent) => {
        setFound([])
        // Another window has the focus: nobody has left the field.
        if (document.activeElement === event.currentTarget) return
        leave(take)
      },
      onFocus: stay,
    }),
    h(
      'ul',
      { id: `${id}-list`, role: 'listbox', 'aria-label': label, hidden: found.length === 0 },
      found.map((suggestion, index) =>
        h(
          'li',
          {
            key: suggestion.key,
            id: `${id}-${index}`,
            role: 'option',
            'aria-selected': index === at,
            // The field keeps the focus, else it would close the list before the click.
            onMouseDown: (event: Event) => event.preventDefault(),
            onClick: () => pick(suggestion),
          },
          h('bdi', { class: 'code' }, suggestion.code),
          ' ',
          h('bdi', null, suggestion.name),
        ),
      ),
    ),
  )
}

/** `leave` calls back when the reader has left the field, but where `stay` is called before, or the field is gone. */
function useLeaving(): { leave: (onLeft: () => void) => void; stay: () => void } {
  const cancel = useRef((): void => {})
  const stay = (): void => cancel.current()
  useEffect(() => stay, [])
  return {
    stay,
    leave(onLeft) {
      // What is pressed stays under the pointer until it is let go: the text that is taken may move it.
      if (document.documentElement.matches(':active')) cancel.current = whenLetGo(onLeft)
      else onLeft()
    },
  }
}

/** Calls back once the pointer is let go, also at the end of a drag, which has no `mouseup`. Returns the cancel. */
function whenLetGo(callback: () => void): () => void {
  const ended = new AbortController()
  const onEnd = (): void => {
    ended.abort()
    callback()
  }
  for (const name of ['mouseup', 'dragend'])
    addEventListener(name, onEnd, { capture: true, signal: ended.signal })
  return () => ended.abort()
}
