/** Shows the figures of a chart as a table, made when it is opened: one row a slot of time that has anything. */
import { type ComponentChildren, h } from 'preact'
import { useState } from 'preact/hooks'
import { type Layer, type Slots, tableRows, type ValueWords } from './chart-data.ts'

/** What the table shows. */
export interface ChartTableProps {
  title: string
  slots: Slots
  layers: readonly Layer[]
  slotWords: (span: { fromMs: number; toMs: number }) => string
  words: ValueWords
}

/** The table, closed at first. */
export function ChartTable(props: ChartTableProps): ComponentChildren {
  const [isOpen, setOpen] = useState(false)
  return h(
    'details',
    {
      class: 'chart-table',
      onToggle: (event: Event) => setOpen((event.currentTarget as HTMLDetailsElement).open),
    },
    h('summary', null, 'Show as table'),
    isOpen && table(props),
  )
}

function table({ title, slots, layers, slotWords, words }: ChartTableProps): ComponentChildren {
  const rows = tableRows(layers, slots, words)
  if (rows.length === 0) return h('p', null, 'There is nothing to show for this time.')
  const span = (fromMs: number) => ({ fromMs, toMs: Math.min(fromMs + slots.stepMs, slots.toMs) })
  return h(
    'div',
    { class: 'scroll', tabIndex: 0, role: 'region', 'aria-label': `${title}, as a table` },
    h(
      'table',
      { class: 'list' },
      h('caption', null, 'Times are London’s. Rows without anything are left out.'),
      h(
        'thead',
        null,
        h(
          'tr',
          null,
          h('th', { scope: 'col' }, 'Time'),
          layers.map(({ name }) => h('th', { scope: 'col' }, name)),
        ),
      ),
      h(
        'tbody',
        null,
        rows.map(({ fromMs, cells }) =>
          h(
            'tr',
            { key: fromMs },
            h('th', { scope: 'row' }, slotWords(span(fromMs))),
            cells.map((cell) => h('td', null, cell)),
          ),
        ),
      ),
    ),
  )
}
