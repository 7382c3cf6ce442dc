/** Lays out the picture of a chart: where its plot, its tracks and its marks lie, in pixels. */
import { highest, type Layer, type Slots } from './chart-data.ts'
import { linearScale, roundTop, type Scale } from './scales.ts'

/** Places in the picture, pixels from its upper left corner. */
export interface PictureFrame {
  width: number
  height: number
  left: number
  right: number
  /** Of the plot, on which bars, steps and spans lie. */
  top: number
  bottom: number
  /** The upper end of each track, in the order of the layers that are tracks. */
  tracks: readonly number[]
  /** Below the last track: the labels of hours. */
  marks: number
  /** The value at the upper end of the plot. */
  highest: number
  x: Scale
  y: Scale
  fromMs: number
  toMs: number
}

const LEFT = 44
const RIGHT = 10
const TOP = 8
const TRACK = 32
const MARKS = 20

/** Lays out a picture of this width whose plot has this height. */
export function frameOf({
  width,
  height,
  slots: { fromMs, toMs },
  layers,
}: {
  width: number
  height: number
  slots: Slots
  layers: readonly Layer[]
}): PictureFrame {
  const right = Math.max(width - RIGHT, LEFT + 1)
  const bottom = TOP + height
  const tracks = layers.filter(({ kind }) => kind === 'track').map((_, index) => bottom + 4 + index * TRACK)
  const marks = bottom + 4 + tracks.length * TRACK
  const top = roundTop(highest(layers))
  return {
    width: Math.max(width, LEFT + RIGHT + 1),
    height: marks + MARKS,
    left: LEFT,
    right,
    top: TOP,
    bottom,
    tracks,
    marks,
    highest: top,
    x: linearScale(fromMs, toMs, LEFT, right),
    y: linearScale(0, top, bottom, TOP),
    fromMs,
    toMs,
  }
}

/** The moment below a place in the picture, ms since 1970; places beside the plot count as its ends. */
export function momentAt({ left, right, fromMs, toMs }: PictureFrame, place: number): number {
  const share = (Math.min(Math.max(place, left), right) - left) / (right - left)
  return Math.min(fromMs + share * (toMs - fromMs), toMs - 1)
}
