/** Lists the gaps of a day: from when to when, why, and what became of them. */
import { type ComponentChildren, h } from 'preact'
import { causeWords, gapStateWords, type KnownGap } from '../../parts/gaps.ts'
import { ScrollTable } from '../../parts/lists/scroll-table.ts'
import { StateMark, type StateTone } from '../../parts/state.ts'
import { inWords, Moment } from '../../parts/times.ts'

const tones: Readonly<Record<KnownGap['state'], StateTone>> = { open: 'bad', filled: 'good', given_up: 'bad' }

/** The table. */
export function GapTable({ gaps }: { gaps: readonly KnownGap[] }): ComponentChildren {
  return h(
    'section',
    { class: 'panel', 'aria-labelledby': 'day-gaps' },
    h('h2', { id: 'day-gaps' }, gaps.length === 1 ? 'One gap' : `${gaps.length} gaps`),
    h(
      ScrollTable,
      { label: 'The gaps as a table', columns: ['From', 'To', 'Length', 'Why', 'State'] },
      gaps.map(gapRow),
    ),
  )
}

function gapRow(gap: KnownGap): ComponentChildren {
  return h(
    'tr',
    { key: gap.id },
    h('td', null, h(Moment, { iso: gap.from, clock: 'upstream' })),
    h('td', null, h(Moment, { iso: gap.to, clock: 'upstream' })),
    h('td', { class: 'number' }, inWords(Date.parse(gap.to) - Date.parse(gap.from))),
    h('td', null, causeWords(gap.cause)),
    h(
      'td',
      null,
      h(StateMark, { tone: tones[gap.state] }, gapStateWords(gap)),
      gap.closedAt !== null && [' at ', h(Moment, { iso: gap.closedAt, clock: 'upstream' })],
    ),
  )
}
