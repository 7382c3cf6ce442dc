/**
 * Defines the text that each event keeps about the request that brought its item, e.g. `sent=412 poll=60012 plan=60000`: names
 * with a value, of which each build skips those that it does not know. The poller writes it, `GET
 * /v1/disclosures/{id}/journey` reads it.
 */
import { SECOND_MS } from '../core/durations.ts'
import { readTraceText, type TraceContext, traceText } from '../obs/trace-context.ts'

/** Which scan over pages brought an item: see `ScanKind` of the poller. */
export const journeyScans = [
  'fill',
  'gap_retry',
  'overlap_rescan',
  'scheduled_rescan',
  'daily_reconciliation',
  'backfill',
] as const
/** One of them. */
export type JourneyScan = (typeof journeyScans)[number]

/** What is kept of a journey. Times are lengths in ms, so that the text stays short. Absent: not known, or does not apply. */
export interface KeptJourney {
  /** From when the request left to `recordedtime`, when its answer was read. */
  requestMs?: number
  /** Of a poll: from the answer of the last good poll before it to when it left. */
  sincePollMs?: number
  /** Of a poll: the time to the next poll that was planned with the poll before it. */
  plannedMs?: number
  /** Of a page scan: what it was for. */
  scan?: JourneyScan
  /** Of a page scan: from its begin to when the request left. */
  scanMs?: number
  /** Upstream's clock minus ours when the item was published; absent where they differ by less than a second. */
  aheadMs?: number
  /** The span of the poll or scan that brought the item; absent where it was not traced. */
  trace?: TraceContext
}

/** The name of each length in the text. */
const NAMES = { requestMs: 'sent', sincePollMs: 'poll', plannedMs: 'plan', scanMs: 'begun' } as const
const AHEAD = 'ahead'
const TRACE = 'trace'

/** The text with the difference of the clocks, which is known only when the item is published. */
export function withAhead(text: string, aheadMs: number | null): string {
  return aheadMs === null || Math.abs(aheadMs) < SECOND_MS ? text : `${text} ${AHEAD}=${Math.round(aheadMs)}`
}

/** The text of a journey, without `aheadMs`. */
export function journeyText({ scan, trace, ...lengths }: Omit<KeptJourney, 'aheadMs'>): string {
  const texts = Object.entries(NAMES).flatMap(([member, name]) => {
    const ms = lengths[member as keyof typeof NAMES]
    return ms === undefined ? [] : [`${name}=${Math.max(0, Math.round(ms))}`]
  })
  const told = [...texts, ...(scan === undefined ? [] : [`scan=${scan}`])]
  return [...told, ...(trace === undefined ? [] : [`${TRACE}=${traceText(trace)}`])].join(' ')
}

/** What a text says. Whatever is not known to this build, or no length, is left out. */
export function readJourney(text: string): KeptJourney {
  const values = new Map(text.split(' ').map((part) => splitAtFirst(part)))
  const scan = journeyScans.find((kind) => kind === values.get('scan'))
  const lengths = Object.entries(NAMES).flatMap(([member, name]) => {
    const value = values.get(name) ?? ''
    return /^\d{1,15}$/.test(value) ? [[member, Number(value)] as const] : []
  })
  const ahead = values.get(AHEAD) ?? ''
  const trace = readTraceText(values.get(TRACE) ?? '')
  return {
    ...Object.fromEntries(lengths),
    ...(scan !== undefined && { scan }),
    ...(/^-?\d{1,15}$/.test(ahead) && { aheadMs: Number(ahead) }),
    ...(trace !== null && { trace }),
  }
}

/** Of a text only its trace; null where it has none. Quick for a text without one. */
export function traceOfJourney(text: string | undefined): TraceContext | null {
  return text?.includes(`${TRACE}=`) ? (readJourney(text).trace ?? null) : null
}

function splitAtFirst(part: string): [name: string, value: string] {
  const at = part.indexOf('=')
  return at < 0 ? [part, ''] : [part.slice(0, at), part.slice(at + 1)]
}
