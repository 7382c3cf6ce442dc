/** Shows a short list as a table; where the window is narrow each row stands as a block, its cells with their names. */
import { type ComponentChildren, h } from 'preact'
import { type Column, ScrollTable } from './scroll-table.ts'

/** A row: its cells in the order of the columns, and what is shown below it over all columns. */
export interface ListRow {
  key: string
  cells: readonly ComponentChildren[]
  below?: ComponentChildren
}

/** The table. */
export function ListTable({
  label,
  columns,
  rows,
}: {
  label: string
  columns: readonly Column[]
  rows: readonly ListRow[]
}): ComponentChildren {
  return h(
    ScrollTable,
    { label, columns, look: 'stacking' },
    rows.map((row) => bodyRows(row, columns)),
  )
}

function bodyRows({ key, cells, below }: ListRow, columns: readonly Column[]): ComponentChildren {
  const row = h(
    'tr',
    { key },
    columns.map(({ name, kind }, index) =>
      h(
        'td',
        { key: name, class: kind, 'data-name': kind === 'actions' ? undefined : name },
        h('div', null, cells[index]),
      ),
    ),
  )
  if (below === undefined || below === null) return row
  return [row, h('tr', { key: `${key} below`, class: 'below' }, h('td', { colSpan: columns.length }, below))]
}
