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

/** A time in which no poll could leave; ms since 1970. */
export interface PollHold {
  fromMs: number
  toMs: number
}

/** The last pause of polling that is over, and the last time in which the log could not be written; null: none is known. */
export interface PollHolds {
  pause: PollHold | null
  outage: PollHold | null
}

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
  /** Of a poll or a fill: from the start of a pause of polling before it, and from the end of that, to when the request left. */
  pausedMs?: number
  resumedMs?: number
  /** The same of a time in which the log could not be written. */
  outageMs?: number
  writableMs?: number
  /** Upstream's clock minus ours when the item was published; absent where they differ by less than a second. */
  aheadMs?: number
  /** The span of the poll or scan that brought the item; absent where it was not traced. */
  trace?: TraceContext
}

/** The name of each length in the text. */
const NAMES = {
  ...{ requestMs: 'sent', sincePollMs: 'poll', plannedMs: 'plan', scanMs: 'begun' },
  ...{ pausedMs: 'paused', resumedMs: 'resumed', outageMs: 'outage', writableMs: 'writable' },
} as const
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

/** What a journey keeps of these holds, for a request that left at `startedMs`. Those that ended before `sinceMs` are left out. */
export function keptHolds({ pause, outage }: PollHolds, sinceMs: number, startedMs: number): KeptJourney {
  const isOf = (hold: PollHold | null): hold is PollHold =>
    hold !== null && hold.toMs > sinceMs && hold.fromMs < startedMs
  return {
    ...(isOf(pause) && { pausedMs: startedMs - pause.fromMs, resumedMs: startedMs - pause.toMs }),
    ...(isOf(outage) && { outageMs: startedMs - outage.fromMs, writableMs: startedMs - outage.toMs }),
  }
}

/** The holds that a journey keeps, of a request that left at `askedMs`. */
export function readHolds(kept: KeptJourney, askedMs: number): PollHolds {
  const { pausedMs, resumedMs, outageMs, writableMs } = kept
  const hold = (fromMs: number | undefined, toMs: number | undefined): PollHold | null =>
    fromMs === undefined || toMs === undefined ? null : { fromMs: askedMs - fromMs, toMs: askedMs - toMs }
  return { pause: hold(pausedMs, resumedMs), outage: hold(outageMs, writableMs) }
}

/** Of a text only its trace; null where it has none. Quick for a text without one. */
export function traceOfJourney(text: string | undefined): TraceContext | null {
  return text?.includes(`${TRACE}=`) ? (readJourney(text).trace ?? null) : null
}

function splitAtFirst(part: string): [name: string, value: string] {
  const at = part.indexOf('=')
  return at < 0 ? [part, ''] : [part.slice(0, at), part.slice(at + 1)]
}
