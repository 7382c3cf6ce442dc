/** Shows a table that scrolls on its own where it is wider than the window, by the keyboard too. */
import { type ComponentChildren, h } from 'preact'

/** A column. `word`: short, and on one line. The name of `actions` is only read out. */
export interface Column {
  name: string
  kind?: 'number' | 'word' | 'actions'
}

/** The table. `children`: its rows; `look`: classes beside `list`; `below`: what scrolls with it. */
export function ScrollTable({
  label,
  columns,
  look,
  below,
  children,
}: {
  label: string
  columns: readonly (Column | string)[]
  look?: string
  below?: ComponentChildren
  children?: ComponentChildren
}): ComponentChildren {
  return h(
    'div',
    { class: 'scroll', tabIndex: 0, role: 'region', 'aria-label': label },
    h(
      'table',
      { class: look === undefined ? 'list' : `list ${look}` },
      h('thead', null, h('tr', null, columns.map(headCell))),
      h('tbody', null, children),
    ),
    below,
  )
}

function headCell(column: Column | string): ComponentChildren {
  const { name, kind }: Column = typeof column === 'string' ? { name: column } : column
  const shown = kind === 'actions' ? h('span', { class: 'off-screen' }, name) : name
  return h('th', { key: name, scope: 'col', class: kind }, shown)
}
