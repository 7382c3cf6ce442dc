/** Edits and shows the headers that an endpoint sends besides. Their values are keys of receivers, so they are masked at first. */
import { type ComponentChildren, h } from 'preact'
import { useState } from 'preact/hooks'
import { StateMark } from '../../parts/state.ts'
import { Foreign } from '../../parts/text.ts'
import type { HeaderDraft } from './endpoint-draft.ts'

const MASK = '••••••••'
const MOST_HEADERS = 20

/** The headers, masked until they are asked for. `onShow`: told when that changes. */
export function MaskedHeaders({
  headers,
  isShown,
  onShow,
}: {
  headers: Readonly<Record<string, string>> | null
  isShown: boolean
  onShow: (isShown: boolean) => void
}): ComponentChildren {
  if (headers === null)
    return h(StateMark, { tone: 'bad' }, 'no key of this bridge opens them; set them again')
  const entries = Object.entries(headers)
  if (entries.length === 0) return 'none'
  return [
    h(
      'ul',
      { class: 'plain' },
      entries.map(([name, value]) =>
        h(
          'li',
          { key: name },
          h('code', null, name, ': '),
          isShown
            ? h(Foreign, { text: value, class: 'foreign code' })
            : h('span', { 'aria-label': 'hidden' }, MASK),
        ),
      ),
    ),
    h(
      'button',
      { type: 'button', class: 'quiet', 'aria-pressed': isShown, onClick: () => onShow(!isShown) },
      isShown ? 'Hide values' : 'Show values',
    ),
  ]
}

/** Fields for them. */
export function HeaderFields({
  headers,
  error,
  onChange,
}: {
  headers: readonly HeaderDraft[]
  error: string | null
  onChange: (headers: readonly HeaderDraft[]) => void
}): ComponentChildren {
  const [isShown, setShown] = useState(false)
  const set = (at: number, change: Partial<HeaderDraft>): void =>
    onChange(headers.map((one, index) => (index === at ? { ...one, ...change } : one)))
  return h(
    'fieldset',
    { class: 'header-fields' },
    h('legend', null, 'Headers to send besides'),
    headers.map((header, index) =>
      h(
        'div',
        { key: index, class: 'header-row' },
        input(`Name of header ${index + 1}`, 'text', header.name, 'x-api-key', (name) =>
          set(index, { name }),
        ),
        input(`Value of header ${index + 1}`, isShown ? 'text' : 'password', header.value, '', (value) =>
          set(index, { value }),
        ),
        h(
          'button',
          {
            type: 'button',
            class: 'quiet',
            'aria-label': `Remove header ${index + 1}`,
            onClick: () => onChange(headers.filter((_, at) => at !== index)),
          },
          '✕',
        ),
      ),
    ),
    error !== null && h('p', { role: 'alert' }, h(StateMark, { tone: 'bad' }, error)),
    h(
      'div',
      { class: 'buttons' },
      h(
        'button',
        {
          type: 'button',
          disabled: headers.length >= MOST_HEADERS,
          onClick: () => onChange([...headers, { name: '', value: '' }]),
        },
        'Add a header',
      ),
      headers.length > 0 &&
        h(
          'button',
          { type: 'button', class: 'quiet', 'aria-pressed': isShown, onClick: () => setShown(!isShown) },
          isShown ? 'Hide values' : 'Show values',
        ),
    ),
  )
}

function input(
  label: string,
  type: string,
  value: string,
  placeholder: string,
  onValue: (value: string) => void,
): ComponentChildren {
  return h('input', {
    'aria-label': label,
    type,
    value,
    placeholder,
    autocomplete: 'off',
    spellcheck: false,
    onInput: (event: Event) => onValue((event.currentTarget as HTMLInputElement).value),
  })
}
