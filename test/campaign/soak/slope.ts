/**
 * Estimates how fast a figure of a process grows, from floors of its samples, by the method of Theil and Sen with its
 * 95 % interval (Sen 1968): single peaks and single collections do not move it.
 */

/** A figure at a moment, both of any unit. */
export interface Point {
  x: number
  y: number
}

/** Growth a unit of `x`: the median slope, and the interval in which the true one lies with 95 % confidence. */
export interface Slope {
  median: number
  low: number
  high: number
  points: number
}

/** 97.5 % quantile of the normal distribution. */
const Z = 1.96
/** Fewer points have no interval worth the name. */
const FEWEST = 6

/** The lowest point of each window that is `width` wide; memory that a collection would free stays out. */
export function floorsOf(points: readonly Point[], width: number): Point[] {
  const windows = Map.groupBy(points, ({ x }) => Math.floor(x / width))
  return [...windows.values()].map((window) =>
    window.reduce((lowest, point) => (point.y < lowest.y ? point : lowest)),
  )
}

/** The slope through these points; null where they are too few to say anything. */
export function slopeOf(points: readonly Point[]): Slope | null {
  const n = points.length
  if (n < FEWEST) return null
  const slopes = points
    .flatMap((one, index) =>
      points.slice(index + 1).map((other) => (other.y - one.y) / (other.x - one.x || Number.NaN)),
    )
    .filter((slope) => !Number.isNaN(slope))
    .sort((left, right) => left - right)
  const spread = Z * Math.sqrt((n * (n - 1) * (2 * n + 5)) / 18)
  const at = (place: number): number =>
    slopes[Math.min(slopes.length - 1, Math.max(0, Math.round(place)))] ?? Number.NaN
  return {
    median: at((slopes.length - 1) / 2),
    low: at((slopes.length - spread) / 2 - 1),
    high: at((slopes.length + spread) / 2),
    points: n,
  }
}
