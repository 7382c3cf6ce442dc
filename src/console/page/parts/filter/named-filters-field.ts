/** Keeps filters of the form under names, brings them back, and copies their addresses for others. */
import { type ComponentChildren, h } from 'preact'
import { useId, useState } from 'preact/hooks'
import type { Filter } from '../../../../../clients/typescript/src/messages.ts'
import { hrefOf } from '../../shell/router.ts'
import { useConsole } from '../../shell/services.ts'
import { useStore } from '../../shell/store.ts'
import { CopyButton } from '../copy.ts'
import { visibleText } from '../text.ts'
import { filterText, readFilterText } from './filter-values.ts'
import { LONGEST_NAME, MOST_NAMED, readNamed, withNamed, withoutNamed } from './named-filters.ts'

/** The part of the form. `onPick`: a kept filter is wanted. */
export function NamedFilters({
  draft,
  onPick,
}: {
  draft: Filter
  onPick: (filter: Filter) => void
}): ComponentChildren {
  const { preferences } = useConsole()
  const stored = useStore(preferences.filters)
  const filters = readNamed(stored)
  return h(
    'div',
    { class: 'field' },
    filters.length > 0 &&
      h(
        'ul',
        { class: 'chips', 'aria-label': 'Kept filters' },
        filters.map(({ name, text }) =>
          h(
            'li',
            { key: name },
            h(
              'button',
              { type: 'button', class: 'quiet', onClick: () => onPick(readFilterText(text) ?? {}) },
              h('bdi', null, visibleText(name)),
            ),
            h(CopyButton, {
              text: `${location.origin}${hrefOf('feed', null, { filter: text || null })}`,
              what: `the address of ${visibleText(name)}`,
            }),
            h(
              'button',
              {
                type: 'button',
                class: 'quiet',
                'aria-label': `Forget ${visibleText(name)}`,
                onClick: () => preferences.filters.set(withoutNamed(stored, name)),
              },
              '✕',
            ),
          ),
        ),
      ),
    h(NameField, {
      isFull: filters.length >= MOST_NAMED,
      names: filters.map(({ name }) => name),
      onKeep: (name) => preferences.filters.set(withNamed(stored, { name, text: filterText(draft) })),
    }),
  )
}

function NameField({
  isFull,
  names,
  onKeep,
}: {
  isFull: boolean
  names: readonly string[]
  onKeep: (name: string) => void
}): ComponentChildren {
  const id = useId()
  const [typed, setTyped] = useState('')
  const name = typed.trim()
  const isKnown = names.includes(name)
  const mayKeep = name !== '' && (isKnown || !isFull)
  const keep = (): void => {
    if (!mayKeep) return
    onKeep(name)
    setTyped('')
  }
  return [
    h('label', { key: 'label', for: id }, 'Keep this filter as'),
    h(
      'div',
      { key: 'field', class: 'inline-form' },
      h('input', {
        id,
        type: 'text',
        autocomplete: 'off',
        maxLength: LONGEST_NAME,
        value: typed,
        onInput: (event: Event) => setTyped((event.currentTarget as HTMLInputElement).value),
        onKeyDown: (event: KeyboardEvent) => {
          // Enter would apply the filter.
          if (event.key !== 'Enter') return
          event.preventDefault()
          keep()
        },
      }),
      h('button', { type: 'button', disabled: !mayKeep, onClick: keep }, isKnown ? 'Replace' : 'Keep'),
    ),
    isFull &&
      h('p', { key: 'full', class: 'hint' }, `${MOST_NAMED} are kept, which is all: forget one first.`),
  ]
}
