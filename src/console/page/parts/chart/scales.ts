/** Maps times and values onto pixels, and chooses the marks of both axes: whole London hours, and round values. */

/** Turns a value into a place in pixels. */
export type Scale = (value: number) => number

/** Maps `from`–`to` onto `low`–`high` in a straight line; a range without length is mapped onto `low`. */
export function linearScale(from: number, to: number, low: number, high: number): Scale {
  const factor = to === from ? 0 : (high - low) / (to - from)
  return (value) => low + (value - from) * factor
}

/** Leading digits of the upper end of an axis, with the steps that its marks divide it into. */
const TOPS: readonly (readonly [leading: number, steps: number])[] = [
  [1, 5],
  [2, 4],
  [3, 3],
  [4, 4],
  [5, 5],
  [8, 4],
  [10, 5],
]

/** The smallest round number that is not below the value, so that an axis ends at one: 1, 2, 3, 4, 5, 8 and their tens. */
export function roundTop(value: number): number {
  if (value <= 1) return 1
  const unit = 10 ** Math.floor(Math.log10(value))
  return (TOPS.find(([leading]) => leading * unit >= value)?.[0] ?? 10) * unit
}

/** The marked values of an axis from 0 to `top`, which `roundTop` gave: round and, up to ten, whole ones. */
export function valueMarks(top: number): number[] {
  const leading = top / 10 ** Math.floor(Math.log10(top))
  const steps = Math.min(TOPS.find(([digit]) => digit === leading)?.[1] ?? 5, top)
  return Array.from({ length: steps + 1 }, (_, index) => (top / steps) * index)
}

/** One mark of the time axis. */
export interface TimeMark {
  atMs: number
  /** The hour in London, e.g. `07`. */
  label: string
}

const HOUR_MS = 3_600_000
const HOURS_APART = [1, 2, 3, 6, 12, 24]
/** Least room of one mark, so that labels never touch. */
const MARK_PIXELS = 34

const londonHour = new Intl.DateTimeFormat('en-GB', {
  hour: '2-digit',
  hourCycle: 'h23',
  timeZone: 'Europe/London',
})

/**
 * Marks of the time axis: whole London hours that fit into `width` pixels. On the day that the clocks go back the repeated hour
 * is marked twice, as it happens twice.
 */
export function hourMarks(fromMs: number, toMs: number, width: number): TimeMark[] {
  const most = Math.max(1, Math.floor(width / MARK_PIXELS))
  const hours = (toMs - fromMs) / HOUR_MS
  const apart = HOURS_APART.find((step) => hours / step <= most) ?? 24
  const first = Math.ceil(fromMs / HOUR_MS) * HOUR_MS
  const marks: TimeMark[] = []
  for (let atMs = first; atMs <= toMs; atMs += HOUR_MS) {
    const label = londonHour.format(atMs)
    if (Number(label) % apart === 0) marks.push({ atMs, label })
  }
  return marks
}
