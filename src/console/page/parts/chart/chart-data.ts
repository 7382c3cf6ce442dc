/**
 * Describes a chart over time as plain data, and puts it into words: what each slot of time holds, and the table behind the
 * picture.
 */

/** How a layer is painted; `chart.css` gives each tone a colour, and each kind of layer has a shape of its own. */
export type Tone = 'main' | 'second' | 'quiet' | 'good' | 'bad'

/** A value that holds from one moment up to another; times are ms since 1970. */
export interface Interval {
  fromMs: number
  toMs: number
  value: number
}

/** A stretch of time with what it is, in words. */
export interface Span {
  fromMs: number
  toMs: number
  label: string
}

/**
 * One layer of a chart. `bars` and `steps` share the vertical axis; `spans` are hatched over its whole height; a `track` is a
 * row of its own below, with ticks at single moments, boxes where only sums are known (`counts`), and spans.
 */
export type Layer =
  | { kind: 'bars'; name: string; tone: Tone; values: readonly Interval[] }
  | { kind: 'steps'; name: string; tone: Tone; values: readonly Interval[]; isDashed?: boolean }
  | { kind: 'spans'; name: string; tone: Tone; spans: readonly Span[] }
  | {
      kind: 'track'
      name: string
      tone: Tone
      atMs: readonly number[]
      counts?: readonly Interval[]
      spans?: readonly Span[]
    }

/** A stretch of time in equal slots: what the crosshair walks over, and the rows of the table. ms since 1970. */
export interface Slots {
  fromMs: number
  toMs: number
  stepMs: number
}

/** A layer without anything in a slot. */
const NOTHING = '–'

/** How many slots there are. */
export function slotCount({ fromMs, toMs, stepMs }: Slots): number {
  return Math.max(0, Math.ceil((toMs - fromMs) / stepMs))
}

/** The slot that holds a moment; one outside is moved to the nearest slot. */
export function slotAt(slots: Slots, atMs: number): number {
  const index = Math.floor((atMs - slots.fromMs) / slots.stepMs)
  return Math.min(Math.max(index, 0), slotCount(slots) - 1)
}

/** Where a slot begins and ends; the last one ends with the stretch. */
export function slotSpan(slots: Slots, index: number): { fromMs: number; toMs: number } {
  const fromMs = slots.fromMs + index * slots.stepMs
  return { fromMs, toMs: Math.min(fromMs + slots.stepMs, slots.toMs) }
}

/** What a layer has in a span of time: a count, a value, or the words of its spans. `–` where there is nothing. */
export function contentOf(layer: Layer, span: { fromMs: number; toMs: number }, words: ValueWords): string {
  if (layer.kind === 'bars') {
    const values = layer.values.filter((value) => overlaps(value, span))
    return values.length === 0 ? NOTHING : words(values.reduce((sum, { value }) => sum + value, 0))
  }
  if (layer.kind === 'steps') {
    const last = layer.values.findLast((value) => overlaps(value, span))
    return last === undefined ? NOTHING : words(last.value)
  }
  const labels = labelsIn(layer.spans ?? [], span)
  if (layer.kind === 'spans') return labels === '' ? NOTHING : labels
  const isHere = (atMs: number): boolean => atMs >= span.fromMs && atMs < span.toMs
  const summed = (layer.counts ?? []).filter(({ fromMs }) => isHere(fromMs))
  const count = layer.atMs.filter(isHere).length + summed.reduce((sum, { value }) => sum + value, 0)
  if (count === 0 && labels === '') return NOTHING
  return [count === 0 ? '' : words(count), labels].filter((text) => text !== '').join(', ')
}

/** A value in words, e.g. with thousands separated. */
export type ValueWords = (value: number) => string

function overlaps(one: { fromMs: number; toMs: number }, other: { fromMs: number; toMs: number }): boolean {
  return one.fromMs < other.toMs && one.toMs > other.fromMs
}

function labelsIn(spans: readonly Span[], span: { fromMs: number; toMs: number }): string {
  // A moment is a span without length: it belongs to the slot that holds it.
  const here = spans.filter(
    (one) =>
      overlaps(one, span) || (one.fromMs === one.toMs && one.fromMs >= span.fromMs && one.fromMs < span.toMs),
  )
  return [...new Set(here.map(({ label }) => label))].join('; ')
}

/** The words of the crosshair: each layer that has something in the slot, in the order of the layers. */
export function readout(
  layers: readonly Layer[],
  span: { fromMs: number; toMs: number },
  words: ValueWords,
): string {
  const parts = layers
    .map((layer) => ({ name: layer.name, content: contentOf(layer, span, words) }))
    .filter(({ content }) => content !== NOTHING)
  return parts.length === 0 ? 'nothing' : parts.map(({ name, content }) => `${name} ${content}`).join(' · ')
}

/** The rows of the table behind a chart. Slots in which no layer has anything but zero are left out. */
export function tableRows(
  layers: readonly Layer[],
  slots: Slots,
  words: ValueWords,
): { fromMs: number; cells: readonly string[] }[] {
  const empty = new Set([NOTHING, words(0)])
  return Array.from({ length: slotCount(slots) }, (_, index) => slotSpan(slots, index))
    .map((span) => ({ fromMs: span.fromMs, cells: layers.map((layer) => contentOf(layer, span, words)) }))
    .filter(({ cells }) => cells.some((cell) => !empty.has(cell)))
}

/** The highest value of bars and steps; 0 where there is none. */
export function highest(layers: readonly Layer[]): number {
  return layers.reduce(
    (most, layer) =>
      layer.kind === 'bars' || layer.kind === 'steps'
        ? layer.values.reduce((high, { value }) => Math.max(high, value), most)
        : most,
    0,
  )
}
