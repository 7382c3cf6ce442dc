/**
 * Shows a long list as a table of which only the rows near the visible part are in the page. All rows have the same height,
 * which is measured, so that zoom and narrow windows need no other figures.
 */
import { type ComponentChildren, h } from 'preact'
import { useLayoutEffect, useRef, useState } from 'preact/hooks'

/** What the table shows. */
export interface TableWindowProps<Row> {
  /** Names the table for a screen reader. */
  label: string
  /** The cells of the head row: `th` elements. */
  head: ComponentChildren
  rows: readonly Row[]
  /** The row's element: a `tr` with `key` and what `position` has. */
  row: (row: Row, position: { 'aria-rowindex': number; tabIndex: number }) => ComponentChildren
  /** The cell of a last row, e.g. of what the list leaves out. */
  foot?: ComponentChildren
  /** Called at each scroll. */
  onScroll?: (atTop: boolean) => void
  /** Scrolls a row into view and gives it the focus; again where `turn` is another number. */
  reveal?: { row: Row; turn: number } | null
  /** Scrolls to the top where it is another number. */
  topTurn?: number
  class?: string
  /** Shown in the place of rows. */
  empty?: ComponentChildren
}

/** Before the first row is measured. */
const GUESSED_ROW_PX = 30
/** Rows beyond the visible part. */
const BEYOND = 12
const AT_TOP_PX = 4

/** The table in a box that scrolls. */
export function TableWindow<Row>(props: TableWindowProps<Row>): ComponentChildren {
  const { label, head, rows, row, onScroll, empty, foot } = props
  const box = useRef<HTMLDivElement>(null)
  const [view, setView] = useState({ top: 0, height: 800, rowPx: GUESSED_ROW_PX })
  const measure = (): void => {
    const shown = box.current
    if (shown === null) return
    const rowPx = shown.querySelector('tr[aria-rowindex]')?.getBoundingClientRect().height ?? view.rowPx
    const next = { top: shown.scrollTop, height: shown.clientHeight, rowPx: rowPx === 0 ? view.rowPx : rowPx }
    if (next.top !== view.top || next.height !== view.height || next.rowPx !== view.rowPx) setView(next)
  }
  // Measured when something may have another size, and at no other repaint: it makes the browser lay out the page at once.
  useLayoutEffect(measure, [rows.length === 0])
  useLayoutEffect(() => {
    const shown = box.current
    if (shown === null) return
    const observer = new ResizeObserver(measure)
    observer.observe(shown)
    return () => observer.disconnect()
  }, [])
  useMovedView(box, props, view.rowPx, measure)
  const first = Math.max(0, Math.floor(view.top / view.rowPx) - BEYOND)
  const hasFoot = foot !== undefined && foot !== null && foot !== false
  const last = Math.min(rows.length, Math.ceil((view.top + view.height) / view.rowPx) + BEYOND)
  return h(
    'div',
    {
      ref: box,
      class: `table-window ${props.class ?? ''}`,
      tabIndex: 0,
      role: 'region',
      'aria-label': label,
      onScroll: (event: Event) => {
        measure()
        const { scrollTop } = event.currentTarget as HTMLDivElement
        onScroll?.(scrollTop <= AT_TOP_PX)
      },
    },
    h(
      'table',
      { 'aria-rowcount': rows.length + (hasFoot ? 2 : 1) },
      h('thead', null, h('tr', { 'aria-rowindex': 1, class: 'head' }, head)),
      spacer('above', first * view.rowPx),
      h(
        'tbody',
        null,
        rows
          .slice(first, last)
          .map((shown, index) => row(shown, { 'aria-rowindex': first + index + 2, tabIndex: -1 })),
      ),
      spacer('below', (rows.length - last) * view.rowPx),
      hasFoot &&
        h('tbody', { key: 'foot', class: 'foot' }, h('tr', { 'aria-rowindex': rows.length + 2 }, foot)),
    ),
    rows.length === 0 && h('div', { class: 'empty' }, empty),
  )
}

/** Scrolls where the props say so, gives the revealed row the focus, and keeps the focus in the list when its row leaves. */
function useMovedView<Row>(
  box: { current: HTMLDivElement | null },
  { rows, reveal = null, topTurn }: TableWindowProps<Row>,
  rowPx: number,
  measure: () => void,
): void {
  const awaited = useRef<Row | null>(null)
  const hadFocus = box.current?.contains(document.activeElement) === true
  useLayoutEffect(() => {
    const index = reveal === null ? -1 : rows.indexOf(reveal.row)
    if (reveal === null || index < 0 || box.current === null) return
    bringIntoView(box.current, index, rowPx)
    awaited.current = reveal.row
    measure()
  }, [reveal?.turn])
  useLayoutEffect(() => {
    if (box.current === null || box.current.scrollTop === 0) return
    box.current.scrollTop = 0
    measure()
  }, [topTurn])
  useLayoutEffect(() => {
    if (awaited.current !== null) {
      const index = rows.indexOf(awaited.current)
      const row = box.current?.querySelector<HTMLElement>(`tr[aria-rowindex='${index + 2}']`) ?? null
      // It is drawn at the next repaint where it was far away.
      if (index >= 0 && row === null) return
      row?.focus({ preventScroll: true })
      awaited.current = null
    }
    if (hadFocus && document.activeElement === document.body) box.current?.focus({ preventScroll: true })
  })
}

/** One cell is enough: a span of columns that a narrow window hides would make others in their place. */
function spacer(key: string, heightPx: number): ComponentChildren {
  return h(
    'tbody',
    { key, 'aria-hidden': 'true', class: 'spacer' },
    heightPx > 0 && h('tr', null, h('td', { style: { height: `${heightPx}px` } })),
  )
}

/** Scrolls as little as needed. The head row covers the first row's height. */
function bringIntoView(box: HTMLElement, index: number, rowPx: number): void {
  const head = box.querySelector('thead')?.getBoundingClientRect().height ?? rowPx
  const top = index * rowPx
  const bottom = top + rowPx + head
  if (top < box.scrollTop) box.scrollTop = top
  else if (bottom > box.scrollTop + box.clientHeight) box.scrollTop = bottom - box.clientHeight
}
