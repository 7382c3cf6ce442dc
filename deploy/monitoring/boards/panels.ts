/** Panels that stand on more than one board. */
import type { Panel } from './board.ts'
import { quantilesOf } from './query.ts'

/** How late items are fetched. */
export const detectionLatency: Panel = {
  kind: 'graph',
  title: 'From upstream to fetched',
  about: 'From the upstream time of an item until the bridge fetched it, without backfilled items.',
  unit: 's',
  queries: quantilesOf('bridge_detection_latency_seconds'),
}
