/** Lists the dashboards that `npm run docs` writes to `dashboards/`, and the metrics that none of them shows. */
import { type Board, boardJson } from './board.ts'
import { ingest } from './ingest.ts'
import { overview } from './overview.ts'
import { storage } from './storage.ts'
import { streams } from './streams.ts'
import { webhooks } from './webhooks.ts'

/** Every board. */
export const boards: readonly Board[] = [overview, ingest, webhooks, streams, storage]

/** Metrics that no panel shows, with the reason. */
export const leftOut: Readonly<Record<string, string>> = {
  bridge_info: 'its label is on every panel: the rules read it into bridge:target:info',
  bridge_trace_spans_total: 'spans are lost without harm, and the tool that shows traces shows their absence',
}

/** Every generated dashboard: file name to text. */
export function dashboardFiles(): Record<string, string> {
  return Object.fromEntries(boards.map((board) => [`${board.uid}.json`, boardJson(board)]))
}
