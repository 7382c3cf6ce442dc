/**
 * Shows a chart over time: a picture that is read by pointer, touch or arrow keys, its legend, and the same figures as a table.
 * For a screen reader the picture is a slider whose value is the slot of time that is read.
 */
import { type ComponentChildren, h, type SVGAttributes } from 'preact'
import { useId, useLayoutEffect, useRef, useState } from 'preact/hooks'
import {
  type Layer,
  readout,
  type Slots,
  slotAt,
  slotCount,
  slotSpan,
  type ValueWords,
} from './chart-data.ts'
import { slotAfterKey } from './chart-keys.ts'
import { ChartTable } from './chart-table.ts'
import { Legend } from './legend.ts'
import { Picture } from './picture.ts'
import { frameOf, momentAt } from './picture-frame.ts'

/** What a chart shows. */
export interface ChartProps {
  title: string
  /** What the picture shows at a glance, in one sentence; it is what a screen reader hears first. */
  summary: string
  slots: Slots
  layers: readonly Layer[]
  /** What the first column of the table and the crosshair call a slot, e.g. `07:00–07:05`. */
  slotWords: (span: { fromMs: number; toMs: number }) => string
  words?: ValueWords
  /** Height of the vertical axis, pixels. */
  height?: number
  /** Now, ms since 1970, where the chart should mark it. */
  nowMs?: number | undefined
}

const HEIGHT = 140
/** Before the browser has measured the room there is. */
const FIRST_WIDTH = 720
const thousands = new Intl.NumberFormat('en-GB')

/** A number with its thousands separated. */
export function numberWords(value: number): string {
  return thousands.format(Math.round(value * 10) / 10)
}

/** The chart. */
export function Chart(props: ChartProps): ComponentChildren {
  const { title, summary, slots, layers, slotWords, words = numberWords, height = HEIGHT, nowMs } = props
  const [index, setIndex] = useState<number | null>(null)
  const [figure, width] = useWidth()
  const name = useId()
  const count = slotCount(slots)
  const frame = frameOf({ width, height, slots, layers })
  const span = index === null ? null : slotSpan(slots, Math.min(index, count - 1))
  const reading = span === null ? null : `${slotWords(span)}: ${readout(layers, span, words)}`
  const readAt = (event: PointerEvent): void => {
    const box = (event.currentTarget as Element).getBoundingClientRect()
    setIndex(slotAt(slots, momentAt(frame, event.clientX - box.left)))
  }
  const slider: SVGAttributes<SVGSVGElement> = {
    role: 'slider',
    // Names of attributes count as written in SVG.
    tabindex: 0,
    'aria-labelledby': name,
    'aria-valuemin': 0,
    'aria-valuemax': Math.max(count - 1, 0),
    'aria-valuenow': index ?? 0,
    'aria-valuetext': reading ?? summary,
    onPointerDown: readAt,
    onPointerMove: readAt,
    onPointerLeave: (event: PointerEvent) => event.pointerType === 'mouse' && setIndex(null),
    onKeyDown: (event: KeyboardEvent) => {
      const to = event.ctrlKey || event.altKey || event.metaKey ? null : slotAfterKey(event.key, index, count)
      if (event.key === 'Escape' && index !== null) setIndex(null)
      else if (to !== null) setIndex(to)
      else return
      event.preventDefault()
      event.stopPropagation()
    },
  }
  return h(
    'figure',
    { class: 'chart', ref: figure },
    h(
      'figcaption',
      { class: 'chart-head' },
      h('span', { id: name, class: 'chart-title' }, title),
      h(Legend, { layers }),
    ),
    h(Picture, { frame, layers, span, nowMs, slider }),
    h(
      'p',
      { class: reading === null ? 'chart-reading chart-hint' : 'chart-reading', 'aria-hidden': 'true' },
      reading ?? `${summary} Point at the chart, or focus it and press ← →, to read it.`,
    ),
    h(ChartTable, { title, slots, layers, slotWords, words }),
  )
}

/** The width of the element that takes the reference, pixels; it follows the element. */
function useWidth(): [{ current: HTMLElement | null }, number] {
  const element = useRef<HTMLElement | null>(null)
  const [width, setWidth] = useState(FIRST_WIDTH)
  useLayoutEffect(() => {
    const measured = element.current
    if (measured === null) return
    const observer = new ResizeObserver(() => setWidth(measured.clientWidth))
    observer.observe(measured)
    setWidth(measured.clientWidth)
    return () => observer.disconnect()
  }, [])
  return [element, width]
}
