/** Shows the chosen row beside the feed: all its values, each with a way to filter by it, and what can be done with it. */
import { type ComponentChildren, h } from 'preact'
import type { Filter } from '../../../../../clients/typescript/src/messages.ts'
import { CopyButton } from '../../parts/copy.ts'
import { filterText, type ListField, notThis, onlyThis } from '../../parts/filter/filter-values.ts'
import { Foreign, visibleText } from '../../parts/text.ts'
import { exactMoment, inWords } from '../../parts/times.ts'
import { hrefOf } from '../../shell/router.ts'
import { type AnnouncementRow, delayOf, type FeedRow } from './feed-rows.ts'
import { LevelMark } from './feed-table.ts'

/** What it works with. */
export interface QuickLookProps {
  row: FeedRow
  filter: Filter
  isMarked: boolean
  onMark: () => void
  onFilter: (filter: Filter) => void
  onClose: () => void
}

/** The panel. */
export function QuickLook(props: QuickLookProps): ComponentChildren {
  const { row, onClose, onMark, isMarked, filter } = props
  const webhook = hrefOf('webhooks', null, {
    new: '1',
    filter: filterText(filter) || null,
    since: row.cursor,
  })
  return h(
    'aside',
    { class: 'quick-look', 'aria-label': 'The chosen row' },
    h(
      'header',
      null,
      h('h2', null, row.kind === 'gap' ? 'Gap' : h(Foreign, { text: row.headline || '(no headline)' })),
      h('button', { type: 'button', class: 'quiet', 'aria-label': 'Close', onClick: onClose }, '✕'),
    ),
    row.kind === 'announcement' && h(Values, { ...props, row }),
    h(
      'div',
      { class: 'buttons' },
      h('a', { class: 'button primary', href: hrefOf('item', row.id) }, 'Open'),
      h(
        'button',
        { type: 'button', onClick: onMark, 'aria-pressed': isMarked },
        isMarked ? 'Marked' : 'Mark',
      ),
      h('a', { class: 'button', href: webhook }, 'From here as a webhook'),
    ),
    h(
      'dl',
      { class: 'values' },
      h('dt', null, 'id'),
      h(
        'dd',
        null,
        h(Foreign, { text: row.id, class: 'code' }),
        h(CopyButton, { text: row.id, what: 'the id' }),
      ),
      h('dt', null, 'cursor'),
      h(
        'dd',
        null,
        h(Foreign, { text: row.cursor, class: 'code' }),
        h(CopyButton, { text: row.cursor, what: 'the cursor' }),
      ),
    ),
  )
}

function Values({ row, filter, onFilter }: QuickLookProps & { row: AnnouncementRow }): ComponentChildren {
  const value = (name: string, text: string, field: ListField | null): ComponentChildren =>
    text === '' ? null : h(Value, { key: `${name} ${text}`, name, text, field, filter, onFilter })
  return h(
    'dl',
    { class: 'values' },
    h('dt', null, 'published'),
    h('dd', null, exactMoment(row.timeMs)),
    h('dt', null, 'here'),
    h('dd', null, `${inWords(delayOf(row))} later`),
    row.level !== null && [h('dt', null, 'importance'), h('dd', null, h(LevelMark, { level: row.level }))],
    row.issuer !== '' && [h('dt', null, 'issuer'), h('dd', null, h(Foreign, { text: row.issuer }))],
    value('symbol', row.symbol, 'symbols'),
    value('ISIN', row.isin, 'isins'),
    value('LEI', row.lei, 'leis'),
    row.categories.map(({ code, name, field }) =>
      h(Value, {
        key: `${field} ${code}`,
        name: field === 'nativeCategories' ? 'group' : 'category',
        text: code,
        more: name,
        field,
        filter,
        onFilter,
      }),
    ),
  )
}

function Value({
  name,
  text,
  more = '',
  field,
  filter,
  onFilter,
}: {
  name: string
  text: string
  more?: string
  field: ListField | null
  filter: Filter
  onFilter: (filter: Filter) => void
}): ComponentChildren {
  const without = field === null ? null : notThis(filter, field, text)
  return [
    h('dt', null, name),
    h(
      'dd',
      null,
      h(Foreign, { text, class: 'code' }),
      more !== '' && [' ', h(Foreign, { text: more })],
      field !== null &&
        h(
          'span',
          { class: 'narrow' },
          h(
            'button',
            {
              type: 'button',
              class: 'quiet',
              'aria-label': `Only ${name} ${visibleText(text)}`,
              onClick: () => onFilter(onlyThis(filter, field, text)),
            },
            'only',
          ),
          h(
            'button',
            {
              type: 'button',
              class: 'quiet',
              'aria-label': `Not ${name} ${visibleText(text)}`,
              disabled: without === null,
              title:
                without === null
                  ? 'The filter leaves out by another value already, and takes one kind only.'
                  : undefined,
              onClick: () => without !== null && onFilter(without),
            },
            'not',
          ),
        ),
    ),
  ]
}
