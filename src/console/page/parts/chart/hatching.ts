/** Makes the hatching with which a chart fills spans of time. */
import { type ComponentChildren, h } from 'preact'
import type { Tone } from './chart-data.ts'

/** A pattern of diagonal lines in the colour of the tone, used as `fill: url(#id)`. */
export function hatching(id: string, tone: Tone): ComponentChildren {
  return h(
    'pattern',
    { id, width: 6, height: 6, patternUnits: 'userSpaceOnUse', patternTransform: 'rotate(45)' },
    h('path', { class: `chart-hatch tone-${tone}`, d: 'M0 0V6' }),
  )
}
