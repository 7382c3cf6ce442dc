/** Lists the open gaps, and how sure the bridge is that nothing else is missing. */
import { type ComponentChildren, h } from 'preact'
import { causeWords } from '../../parts/gaps.ts'
import { ScrollTable } from '../../parts/lists/scroll-table.ts'
import { StateMark } from '../../parts/state.ts'
import { Moment } from '../../parts/times.ts'
import type { StatusAnswer } from '../../shell/answers.ts'

const MOST_SHOWN = 20

/** The panel. `isOld`: it is not known what became of the upstream since. */
export function GapsPanel({
  gaps,
  unreconciled,
  completeness,
  isOld,
}: Pick<StatusAnswer, 'gaps' | 'unreconciled' | 'completeness'> & { isOld: boolean }): ComponentChildren {
  return h(
    'section',
    { class: 'panel panel-wide', 'aria-label': 'Gaps' },
    h('h2', null, 'Open gaps'),
    gaps === null
      ? h('p', null, 'Not known to this node: it has heard from no leader.')
      : gaps.length === 0
        ? h('p', null, h(NoGap, { isOld }))
        : h(GapTable, { gaps }),
    h(Certainty, { completeness, unreconciled }),
  )
}

function NoGap({ isOld }: { isOld: boolean }): ComponentChildren {
  return isOld
    ? h(StateMark, { tone: 'notice' }, 'None by what was known last.')
    : h(StateMark, { tone: 'good' }, 'None.')
}

function GapTable({ gaps }: { gaps: NonNullable<StatusAnswer['gaps']> }): ComponentChildren {
  const more = gaps.length - MOST_SHOWN
  return h(
    ScrollTable,
    {
      label: 'Table of open gaps',
      columns: ['From', 'To', 'Why', 'Noticed', 'Found so far'],
      below: more > 0 && h('p', { class: 'hint' }, `${more} more are open.`),
    },
    gaps
      .slice(0, MOST_SHOWN)
      .map(({ id, from, to, cause, openedAt, found }) =>
        h(
          'tr',
          { key: id },
          h('td', null, h(Moment, { iso: from, clock: 'upstream' })),
          h('td', null, h(Moment, { iso: to, clock: 'upstream' })),
          h('td', null, causeWords(cause)),
          h('td', null, h(Moment, { iso: openedAt })),
          h('td', { class: 'number' }, found),
        ),
      ),
  )
}

function Certainty({
  completeness,
  unreconciled,
}: Pick<StatusAnswer, 'completeness' | 'unreconciled'>): ComponentChildren {
  if (completeness === null) return null
  const spans = (unreconciled ?? []).length
  const text = {
    'polls+fills':
      'The plan pays for polls and for filling gaps. What the upstream publishes behind its own clock may be missing without a gap.',
    '+sweeps': 'The newest hours are read a second time. Whole days are not: the plan has no units for that.',
    '+day':
      spans === 0
        ? 'Every day was read a second time to its end.'
        : 'Each day is read a second time after its end. Not yet read again:',
  }[completeness]
  return [
    h('p', { class: 'hint' }, text),
    completeness === '+day' &&
      spans > 0 &&
      h(
        'ul',
        { class: 'plain' },
        (unreconciled ?? [])
          .slice(0, MOST_SHOWN)
          .map(({ from, to }) =>
            h(
              'li',
              { key: from },
              h(Moment, { iso: from, clock: 'upstream' }),
              ' to ',
              h(Moment, { iso: to, clock: 'upstream' }),
            ),
          ),
      ),
  ]
}
