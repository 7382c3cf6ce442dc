/** Shows what the units of the week were spent for, each with its share of the quota as a bar. */
import { type ComponentChildren, h } from 'preact'
import { ScrollTable } from '../../parts/lists/scroll-table.ts'
import { purposeWord } from '../../parts/purposes.ts'
import { percent } from './quota-words.ts'

const BAR = { width: 160, height: 10 }

/** The table. `units`: by purpose; `limit`: units of a week. */
export function PurposeTable({
  units,
  limit,
}: {
  units: Readonly<Record<string, number>>
  limit: number
}): ComponentChildren {
  const spent = Object.entries(units).sort(([, one], [, other]) => other - one)
  if (spent.length === 0) return h('p', { class: 'hint' }, 'No unit is spent.')
  return h(
    ScrollTable,
    {
      label: 'Units of the week by purpose',
      columns: ['Spent for', 'Units', 'Of the quota'],
      look: 'purposes',
    },
    spent.map(([purpose, count]) =>
      h(
        'tr',
        { key: purpose },
        h('th', { scope: 'row' }, purposeWord(purpose)),
        h('td', { class: 'number' }, count.toLocaleString('en-GB')),
        h('td', null, h('span', { class: 'share' }, bar(count / limit), ' ', percent(count / limit))),
      ),
    ),
  )
}

function bar(share: number): ComponentChildren {
  const { width, height } = BAR
  return h(
    'svg',
    { class: 'chart', width, height, 'aria-hidden': 'true' },
    h('rect', { class: 'chart-bars tone-main', width: Math.max(width * Math.min(share, 1), 1), height }),
  )
}
