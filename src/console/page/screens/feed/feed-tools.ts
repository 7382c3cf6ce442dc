/** The line with the filter in words, and the choice of what is signalled. */
import { type ComponentChildren, h } from 'preact'
import type { Filter } from '../../../../../clients/typescript/src/messages.ts'
import { filterText, filterWords } from '../../parts/filter/filter-values.ts'
import { visibleText } from '../../parts/text.ts'
import type { AlertLevel } from '../../shell/preferences.ts'
import { hrefOf } from '../../shell/router.ts'
import { useConsole } from '../../shell/services.ts'
import { useStore } from '../../shell/store.ts'
import { alertChoices, alertWords, useTones } from './alerts.ts'

const SAMPLE_HZ = 660

/** The line. `since`: cursor of the newest row, where a webhook would begin. */
export function FeedTools({
  filter,
  isOpen,
  since,
  onToggle,
  onClear,
}: {
  filter: Filter
  isOpen: boolean
  since: string | null
  onToggle: () => void
  onClear: () => void
}): ComponentChildren {
  const words = filterWords(filter)
  const text = filterText(filter)
  return h(
    'div',
    { class: 'feed-tools' },
    h(
      'button',
      { type: 'button', 'aria-expanded': isOpen, onClick: onToggle, class: 'filter-button' },
      words.length === 0 ? 'Filter ' : 'Edit the filter ',
      h('kbd', { 'aria-hidden': 'true' }, '/'),
    ),
    words.length > 0 &&
      h(
        'ul',
        { class: 'chips', 'aria-label': 'The filter' },
        words.map((word) => h('li', { key: word }, h('bdi', null, visibleText(word)))),
      ),
    words.length > 0 && h('button', { type: 'button', class: 'quiet', onClick: onClear }, 'Show everything'),
    h('span', { class: 'spring' }),
    h(AlertChoice, null),
    h(
      'a',
      { class: 'button', href: hrefOf('webhooks', null, { new: '1', filter: text || null, since }) },
      'As a webhook',
    ),
  )
}

function AlertChoice(): ComponentChildren {
  const { preferences } = useConsole()
  const from = useStore(preferences.alertFrom)
  const hasSound = useStore(preferences.hasSound)
  const tones = useTones()
  return h(
    'span',
    { class: 'alert-choice' },
    h(
      'label',
      null,
      'Signal ',
      h(
        'select',
        {
          value: from,
          onChange: (event: Event) => {
            const chosen = (event.currentTarget as HTMLSelectElement).value as AlertLevel
            preferences.alertFrom.set(chosen)
            // A choice is a click: after it the browser lets the page be heard.
            if (chosen !== 'off' && hasSound) tones.play(SAMPLE_HZ)
          },
        },
        alertChoices.map((level) => h('option', { key: level, value: level }, alertWords[level])),
      ),
    ),
    from !== 'off' &&
      h(
        'label',
        { class: 'check' },
        h('input', {
          type: 'checkbox',
          checked: hasSound,
          onChange: () => preferences.hasSound.set(!hasSound),
        }),
        ' with sound',
      ),
  )
}
