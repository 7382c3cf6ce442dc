/** Draws the rows of the feed. */
import { type ComponentChildren, h } from 'preact'
import { StateShape } from '../../parts/state.ts'
import { TableWindow } from '../../parts/table-window.ts'
import { Foreign, visibleText } from '../../parts/text.ts'
import { briefly, exactMoment, londonTime, shortMoment } from '../../parts/times.ts'
import { hrefOf } from '../../shell/router.ts'
import { useUpstreamClock } from '../../shell/services.ts'
import { MOST_ROWS } from './feed-model.ts'
import {
  type AnnouncementRow,
  delayOf,
  type FeedRow,
  type GapRow,
  gapWords,
  type Level,
} from './feed-rows.ts'

/** What the table shows. */
export interface FeedTableProps {
  rows: readonly FeedRow[]
  chosenKey: string | null
  marked: ReadonlySet<string>
  reveal: { row: FeedRow; turn: number } | null
  /** Scrolls to the top where it is another number. */
  topTurn: number
  /** Rows that are no longer kept. */
  dropped: number
  onChoose: (row: FeedRow) => void
  onScroll: (atTop: boolean) => void
  empty: ComponentChildren
}

const columns = [
  ['time', 'Time'],
  ['level', 'Importance'],
  ['symbol', 'Symbol'],
  ['headline', 'Headline'],
  ['issuer', 'Issuer'],
  ['categories', 'Categories'],
  ['marks', 'Marks'],
  ['delay', 'Delay'],
] as const

/** The table. */
export function FeedTable(props: FeedTableProps): ComponentChildren {
  const { rows, chosenKey, marked, reveal, topTurn, dropped, onChoose, onScroll, empty } = props
  const { nowMs } = useUpstreamClock()
  const today = londonTime(nowMs).date
  return h(TableWindow<FeedRow>, {
    label: 'Announcements, the newest first',
    class: 'feed-table',
    head: columns.map(([name, title]) => h('th', { key: name, class: `c-${name}`, scope: 'col' }, title)),
    rows,
    reveal,
    topTurn,
    foot:
      dropped > 0 &&
      h('td', null, droppedWords(dropped), h('a', { href: hrefOf('day') }, 'Days have them all.')),
    onScroll,
    empty,
    row: (row, position) => {
      const common = {
        key: row.key,
        ...position,
        'aria-current': row.key === chosenKey ? ('true' as const) : undefined,
        onClick: () => onChoose(row),
      }
      return row.kind === 'gap'
        ? h('tr', { ...common, class: `gap gap-${row.state}` }, gapCells(row, nowMs, today))
        : h(
            'tr',
            { ...common, class: row.level === null ? '' : `is-${row.level}` },
            cells(row, today, marked.has(row.key)),
          )
    },
  })
}

/** What stands below the oldest row that is kept. */
export function droppedWords(dropped: number): string {
  const many = dropped === 1 ? '1 older row is' : `${count.format(dropped)} older rows are`
  return `${many} not here: this page keeps the newest ${count.format(MOST_ROWS)}. `
}

const count = new Intl.NumberFormat('en-GB')

function cells(row: AnnouncementRow, today: string, isMarked: boolean): ComponentChildren {
  return [
    h('td', { class: 'c-time' }, rowTime(row.timeMs, today)),
    h('td', { class: 'c-level' }, row.level !== null && h(LevelMark, { level: row.level })),
    h('td', { class: 'c-symbol' }, h(Foreign, { text: row.symbol, class: 'code' })),
    h(
      'td',
      { class: 'c-headline' },
      h(
        'a',
        { href: hrefOf('item', row.id), 'data-row': row.key },
        h(Foreign, { text: row.headline === '' ? '(no headline)' : row.headline }),
      ),
    ),
    h('td', { class: 'c-issuer' }, h(Foreign, { text: row.issuer })),
    h(
      'td',
      { class: 'c-categories', title: row.categories.map(({ name }) => visibleText(name)).join(', ') },
      row.categories.map(({ code }, index) => [index > 0 && ' ', h(Foreign, { text: code, class: 'code' })]),
    ),
    h('td', { class: 'c-marks' }, marksOf(row, isMarked)),
    h('td', { class: 'c-delay', title: `held at ${exactMoment(row.heldMs)}` }, briefly(delayOf(row))),
  ]
}

function gapCells(row: GapRow, nowMs: number, today: string): ComponentChildren {
  const text = gapWords(row, (ms) => shortMoment(ms, nowMs))
  return [
    h('td', { class: 'c-time' }, rowTime(row.timeMs, today)),
    h(
      'td',
      { class: 'c-gap', title: text },
      h(StateShape, { tone: row.state === 'filled' ? 'good' : 'bad' }),
      ' ',
      h('strong', null, gapNames[row.state]),
      ` ${text}`,
    ),
  ]
}

const gapNames = { opened: 'Gap.', filled: 'Gap filled.', given_up: 'Gap given up.' } as const

function rowTime(ms: number, today: string): ComponentChildren {
  const { date, time, zone, isTwice } = londonTime(ms)
  return h(
    'time',
    { dateTime: new Date(ms).toISOString(), title: exactMoment(ms) },
    date !== today && h('span', { class: 'row-date' }, `${date.slice(5)} `),
    time,
    isTwice && h('span', { class: 'row-zone' }, ` ${zone}`),
  )
}

const levelShapes: Readonly<Record<Level, string>> = { ultra: '▲▲', high: '▲', medium: '●', low: '·' }

/** An importance: a shape, a word and a colour. */
export function LevelMark({ level }: { level: Level }): ComponentChildren {
  return h(
    'span',
    { class: `level level-${level}` },
    h('span', { class: 'level-shape', 'aria-hidden': 'true' }, levelShapes[level]),
    h('span', { class: 'level-word' }, level),
  )
}

function marksOf(row: AnnouncementRow, isMarked: boolean): ComponentChildren {
  return [
    isMarked && h('span', { class: 'tag tag-marked' }, '★ marked'),
    row.isAmended &&
      h('span', { class: 'tag', title: 'The same announcement with other content' }, 'amended'),
    row.isLate && h('span', { class: 'tag', title: 'Published after a later announcement' }, 'late'),
    row.replaces && h('span', { class: 'tag', title: 'Replaces an earlier announcement' }, 'replaces'),
  ]
}
