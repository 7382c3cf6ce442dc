/**
 * Reads the flags of commands that follow an event stream: the filter, and the position to start from. Both are checked
 * by the bridge that receives them.
 */
import type { From } from '../../../clients/typescript/src/messages.ts'
import type { Subscription } from '../../../clients/typescript/src/subscriptions.ts'
import { isoSeconds, parseTimeBound } from '../../core/dates.ts'
import { isBridgeError } from '../../errors.ts'
import { londonTime } from '../terminal/london-time.ts'
import { FILTER_HELP, filterFlags, filterOf, filterParameters } from './filter-flags.ts'
import { requestFlags } from './target.ts'

/** For `readFlags`: the bridge, the filter and the start. */
export const streamFlags = {
  ...requestFlags,
  ...filterFlags,
  after: { type: 'string' },
  since: { type: 'string' },
  tail: { type: 'string' },
} as const

/** The lines of a command's help about them. */
export const STREAM_HELP = `Where to start; without one of them with new events:
  --after CURSOR        after that event
  --since TIME          with the first event of that time or later: one that tail prints, or e.g.
                        2026-07-07T07:00+01:00; without an offset it is UTC
  --tail N              with the last N that match, 1 to 1000

Which events; fields and values of docs/use/filters.md, lists comma-separated or repeated:
${FILTER_HELP}`

/** A line that says which moment `--since` is, in UTC and in London; null where it is not given or not a time. */
export function sinceLine({ since }: { since?: string | undefined }): string | null {
  if (since === undefined) return null
  try {
    const { fromMs } = parseTimeBound(since)
    return `from ${isoSeconds(fromMs)}, in London ${londonTime(fromMs)}`
  } catch (error) {
    // The bridge refuses it with the forms that it takes.
    if (isBridgeError(error, 'date_invalid')) return null
    throw error
  }
}

/** What is followed and from where, in the form of the WebSocket and in that of a query. */
export interface StreamSelection {
  subscription: Pick<Subscription, 'filter' | 'from'>
  /** The filter as parameters of `GET /v1/events`. */
  filter: URLSearchParams
  /** The start as parameters of `GET /v1/events`. */
  start: URLSearchParams
}

/** @throws BridgeError `usage` for filter flags that do not go together */
export function streamSelection(values: Readonly<Record<string, unknown>>): StreamSelection {
  const start = Object.fromEntries(
    (['after', 'since', 'tail'] as const).flatMap((name) => {
      const text = values[name]
      return typeof text === 'string' ? [[name, text] as const] : []
    }),
  )
  const filter = filterOf(values)
  // A wrong filter or two starts are left to the bridge, which answers with an error.
  const from = { ...start, ...(start.tail !== undefined && { tail: Number(start.tail) }) }
  return {
    subscription: {
      ...(filter !== undefined && { filter: filter as object }),
      ...(Object.keys(start).length > 0 && { from: from as unknown as From }),
    },
    filter: filterParameters(values),
    start: new URLSearchParams(start),
  }
}
