/** Draws a chart as SVG. Shape and hatching tell its layers apart where colours do not: in forced colours, in print. */
import { type ComponentChildren, h, type SVGAttributes } from 'preact'
import { useId } from 'preact/hooks'
import type { Layer } from './chart-data.ts'
import { hatching } from './hatching.ts'
import type { PictureFrame } from './picture-frame.ts'
import { hourMarks, valueMarks } from './scales.ts'
import { barsPath, spansPath, stepsPath, ticksPath } from './shapes.ts'

/** What the picture shows. */
export interface PictureProps {
  frame: PictureFrame
  layers: readonly Layer[]
  /** The slot under the crosshair. */
  span: { fromMs: number; toMs: number } | null
  nowMs: number | undefined
  /** Attributes and handlers that make the picture a slider. */
  slider: SVGAttributes<SVGSVGElement>
}

/** Space from the upper end of a track to its ticks: the line that its name takes. */
const TRACK_NAME = 15
const TRACK_TICKS = 13

const short = new Intl.NumberFormat('en-GB', { notation: 'compact' })

/** A marked value in the little room that there is beside the axis, e.g. `400` and `40k`. */
function markWords(value: number): string {
  return value < 10_000 ? value.toLocaleString('en-GB') : short.format(value).toLowerCase()
}

/** The picture. */
export function Picture({ frame, layers, span, nowMs, slider }: PictureProps): ComponentChildren {
  const id = useId()
  const hatchOf = (layer: Layer): string => `hatch-${id}-${layers.indexOf(layer)}`
  const { width, height, top, marks, x } = frame
  const tracks = layers.filter((layer) => layer.kind === 'track')
  const isNowShown = nowMs !== undefined && nowMs >= frame.fromMs && nowMs <= frame.toMs
  return h(
    'svg',
    { ...slider, class: 'chart-picture', width, height, viewBox: `0 0 ${width} ${height}` },
    h(
      'defs',
      null,
      layers.map((layer) => hatching(hatchOf(layer), layer.tone)),
    ),
    valueAxis(frame),
    layers.map((layer) => plotted(layer, frame, hatchOf(layer))),
    tracks.map((track, index) => trackRow(track, frame, frame.tracks[index] ?? marks, hatchOf(track))),
    timeAxis(frame),
    isNowShown && line('chart-now', x(nowMs), top, marks),
    span !== null && crosshair(frame, span),
  )
}

function plotted(layer: Layer, frame: PictureFrame, hatch: string): ComponentChildren {
  const { x, y, top, bottom, fromMs, toMs } = frame
  const tone = `tone-${layer.tone}`
  if (layer.kind === 'bars')
    return h('path', { class: `chart-bars ${tone}`, d: barsPath(layer.values, x, y) })
  if (layer.kind === 'steps')
    return h('path', {
      class: `chart-steps ${tone}${layer.isDashed === true ? ' chart-dashed' : ''}`,
      d: stepsPath(layer.values, x, y),
    })
  if (layer.kind === 'spans')
    return h('path', {
      class: `chart-spans ${tone}`,
      fill: `url(#${hatch})`,
      d: spansPath(layer.spans, x, { fromMs, toMs, top, bottom }),
    })
  return null
}

function trackRow(
  track: Extract<Layer, { kind: 'track' }>,
  frame: PictureFrame,
  top: number,
  hatch: string,
): ComponentChildren {
  const { x, left, right, fromMs, toMs } = frame
  const from = top + TRACK_NAME
  const to = from + TRACK_TICKS
  const shown = track.atMs.filter((atMs) => atMs >= fromMs && atMs <= toMs)
  return h(
    'g',
    { class: `chart-track tone-${track.tone}` },
    h('text', { class: 'chart-track-name', x: left, y: top + 11 }, track.name),
    h('path', { class: 'chart-rule', d: `M${left} ${to}H${right}` }),
    track.spans !== undefined &&
      h('path', {
        class: 'chart-spans',
        fill: `url(#${hatch})`,
        d: spansPath(track.spans, x, { fromMs, toMs, top: from, bottom: to }),
      }),
    h('path', { class: 'chart-ticks', d: ticksPath(shown, x, from, to) }),
    track.counts !== undefined &&
      h('path', {
        class: 'chart-counts',
        d: spansPath(track.counts, x, { fromMs, toMs, top: from, bottom: to }),
      }),
  )
}

function valueAxis({ y, left, right, highest }: PictureFrame): ComponentChildren {
  return valueMarks(highest).map((value) =>
    h(
      'g',
      { class: value === 0 ? 'chart-rule chart-base' : 'chart-rule' },
      h('path', { d: `M${left} ${y(value)}H${right}` }),
      h('text', { x: left - 6, y: y(value) + 4, 'text-anchor': 'end' }, markWords(value)),
    ),
  )
}

function timeAxis({ fromMs, toMs, left, right, x, marks }: PictureFrame): ComponentChildren {
  return hourMarks(fromMs, toMs, right - left).map(({ atMs, label }) =>
    h(
      'g',
      { class: 'chart-rule' },
      h('path', { d: `M${x(atMs)} ${marks}v4` }),
      h('text', { x: x(atMs), y: marks + 16, 'text-anchor': 'middle' }, label),
    ),
  )
}

function crosshair(
  { x, top, marks }: PictureFrame,
  { fromMs, toMs }: { fromMs: number; toMs: number },
): ComponentChildren {
  return h('rect', {
    class: 'chart-crosshair',
    x: x(fromMs),
    y: top,
    width: Math.max(x(toMs) - x(fromMs), 1),
    height: marks - top,
  })
}

function line(name: string, place: number, top: number, bottom: number): ComponentChildren {
  return h('path', { class: name, d: `M${place} ${top}V${bottom}` })
}
