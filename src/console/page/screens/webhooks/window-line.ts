/** Draws a window of time on a line that ends now, with its midnights. */
import { type ComponentChildren, h } from 'preact'
import { londonMs } from '../../parts/forms/london-input.ts'
import { londonTime, shortMoment } from '../../parts/times.ts'

const DAY_MS = 24 * 3_600_000
const WIDTH = 600
const HEIGHT = 34
const MOST_DAYS = 15

/** The line. A window that is not known yet is left out. */
export function WindowLine({
  nowMs,
  fromMs,
  untilMs,
}: {
  nowMs: number
  fromMs: number | null
  untilMs: number | null
}): ComponentChildren {
  const startMs = Math.min(fromMs ?? nowMs, nowMs - DAY_MS) - DAY_MS / 24
  const at = (ms: number): number => (WIDTH * (Math.min(ms, nowMs) - startMs)) / (nowMs - startMs)
  const isWindow = fromMs !== null && untilMs !== null && fromMs < untilMs
  const words = isWindow
    ? `From ${shortMoment(fromMs, nowMs)} until ${untilMs >= nowMs ? 'now' : shortMoment(untilMs, nowMs)}`
    : 'No window yet'
  return h(
    'figure',
    { class: 'window-line' },
    h(
      'svg',
      { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: 'img', 'aria-label': words, preserveAspectRatio: 'none' },
      h('rect', { class: 'line-ground', x: 0, y: 8, width: WIDTH, height: 18 }),
      isWindow &&
        h('rect', {
          class: 'line-window',
          x: at(fromMs),
          y: 8,
          width: Math.max(2, at(untilMs) - at(fromMs)),
          height: 18,
        }),
      midnights(startMs, nowMs).map((ms) =>
        h('line', { key: ms, class: 'line-day', x1: at(ms), x2: at(ms), y1: 4, y2: 30 }),
      ),
    ),
    h(
      'figcaption',
      { class: 'hint' },
      h('span', null, shortMoment(startMs, nowMs)),
      h('span', null, words),
      h('span', null, 'now'),
    ),
  )
}

/** The midnights of London between two moments, the last ones where there are many. */
function midnights(startMs: number, nowMs: number): number[] {
  const found: number[] = []
  for (let ms = nowMs; ms > startMs && found.length < MOST_DAYS; ms -= DAY_MS) {
    const midnight = londonMs(`${londonTime(ms).date}T00:00`)
    if (midnight !== null && midnight > startMs) found.push(midnight)
  }
  return found
}
