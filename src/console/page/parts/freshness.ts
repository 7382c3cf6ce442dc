/** Says how old what a screen shows is, and how often it is asked for. */
import { type ComponentChildren, h } from 'preact'
import { Ago } from './times.ts'

/** One line. `atMs`: when the answer came, by the bridge's clock; null before the first, which shows nothing. */
export function Freshness({
  atMs,
  everyMs,
}: {
  atMs: number | null
  everyMs: number | null
}): ComponentChildren {
  if (atMs === null) return null
  const often =
    everyMs === null
      ? 'Asked once'
      : everyMs === 1000
        ? 'Asked every second'
        : `Asked every ${everyMs / 1000} seconds`
  return h('p', { class: 'hint' }, `${often}; this is from `, h(Ago, { ms: atMs }), '.')
}
