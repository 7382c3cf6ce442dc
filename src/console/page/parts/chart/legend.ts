/** Names the layers of a chart beside a sample of each; tracks carry their names themselves. */
import { type ComponentChildren, h } from 'preact'
import { useId } from 'preact/hooks'
import type { Layer } from './chart-data.ts'
import { hatching } from './hatching.ts'

const SAMPLES: Readonly<Record<Exclude<Layer['kind'], 'track'>, string>> = {
  bars: 'M2 12V5h4V12zM8 12V1h4V12zM14 12V7h4V12z',
  steps: 'M1 10H8V4H19',
  spans: 'M1 1H19V11H1z',
}

/** The legend; nothing where a single layer needs none. */
export function Legend({ layers }: { layers: readonly Layer[] }): ComponentChildren {
  const id = `sample-${useId()}`
  const named = layers.flatMap((layer) => (layer.kind === 'track' ? [] : [layer]))
  if (named.length < 2) return null
  return h(
    'ul',
    { class: 'chart-legend' },
    named.map((layer, index) =>
      h(
        'li',
        { key: layer.name },
        h(
          'svg',
          { width: 20, height: 12, 'aria-hidden': 'true' },
          layer.kind === 'spans' && hatching(`${id}-${index}`, layer.tone),
          h('path', {
            class: `chart-${layer.kind} tone-${layer.tone}${layer.kind === 'steps' && layer.isDashed === true ? ' chart-dashed' : ''}`,
            d: SAMPLES[layer.kind],
            ...(layer.kind === 'spans' && { fill: `url(#${id}-${index})` }),
          }),
        ),
        layer.name,
      ),
    ),
  )
}
