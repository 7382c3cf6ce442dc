/** Draws the layers of a chart as SVG paths: one path a layer, however many values it has. */
import type { Interval, Span } from './chart-data.ts'
import type { Scale } from './scales.ts'

/** Narrowest bar, span or tick, in pixels: a gap of a second must be seen on the strip of a day. */
const NARROWEST = 2

/** Bars from the base line up to their values, with a hair of space between them where there is room. */
export function barsPath(values: readonly Interval[], x: Scale, y: Scale): string {
  const base = y(0)
  return values
    .filter(({ value }) => value > 0)
    .map(({ fromMs, toMs, value }) => {
      const left = x(fromMs)
      const room = x(toMs) - left
      const width = room > 3 ? room - 1 : Math.max(room, 1)
      return `M${px(left)} ${px(base)}V${px(y(value))}h${px(width)}V${px(base)}z`
    })
    .join('')
}

/** A line that goes level through each value and straight up or down to the next; it breaks where values do. */
export function stepsPath(values: readonly Interval[], x: Scale, y: Scale): string {
  let path = ''
  let endMs = Number.NaN
  for (const { fromMs, toMs, value } of values) {
    path += fromMs === endMs ? `V${px(y(value))}` : `M${px(x(fromMs))} ${px(y(value))}`
    path += `H${px(x(toMs))}`
    endMs = toMs
  }
  return path
}

/** Upright ticks of a track, from `top` down to `bottom`. Moments on one pixel are drawn once. */
export function ticksPath(atMs: readonly number[], x: Scale, top: number, bottom: number): string {
  const places = new Set(atMs.map((moment) => Math.round(x(moment) * 2) / 2))
  return [...places].map((place) => `M${px(place)} ${px(top)}V${px(bottom)}`).join('')
}

/** Boxes of spans, from `top` down to `bottom`, each cut to the drawn stretch and never narrower than two pixels. */
export function spansPath(
  spans: readonly Pick<Span, 'fromMs' | 'toMs'>[],
  x: Scale,
  drawn: { fromMs: number; toMs: number; top: number; bottom: number },
): string {
  return spans
    .filter(({ fromMs, toMs }) => fromMs <= drawn.toMs && toMs >= drawn.fromMs)
    .map(({ fromMs, toMs }) => {
      const left = x(Math.max(fromMs, drawn.fromMs))
      const width = Math.max(x(Math.min(toMs, drawn.toMs)) - left, NARROWEST)
      return `M${px(left)} ${px(drawn.top)}H${px(left + width)}V${px(drawn.bottom)}H${px(left)}z`
    })
    .join('')
}

/** A number as SVG has it: two digits after the point are finer than any screen. */
function px(value: number): string {
  return `${Math.round(value * 100) / 100}`
}
