/**
 * Builds synthetic events in the shape of real ones, so that somebody can try what a receiver does with them. Their id
 * begins with `test_`, their sequence and epoch are zero, and no log holds them.
 */
import { NO_EPOCH } from '../../archive/store/archive.ts'
import { isoMillis, isoSeconds } from '../../core/dates.ts'
import { readDisclosure } from '../../core/disclosure.ts'
import { MINUTE_MS } from '../../core/durations.ts'
import {
  disclosureEvent,
  encodeAttributes,
  GAP_OPENED,
  gapEvent,
  joinEvent,
  type NewEvent,
} from '../../core/event.ts'
import type { SystemEvent } from './system-event.ts'

/** What can be sent: the kinds of a filter's `types` that every receiver may get. */
export const sampleKinds = ['published', 'amended', 'gap'] as const
/** One of them. */
export type SampleKind = (typeof sampleKinds)[number]

/** A synthetic event. `id` begins with `test_`, that of a gap event with `gap:test_`; `nowMs`: ms since 1970. */
export function sampleEvent(kind: SampleKind, id: string, nowMs: number): SystemEvent {
  const event = kind === 'gap' ? sampleGap(id, nowMs) : sampleDisclosure(kind, id, nowMs)
  const committed = { ...event, sequence: 0, epoch: NO_EPOCH }
  return { id: event.id, atMs: nowMs, json: joinEvent(encodeAttributes(committed), event.data) }
}

function sampleDisclosure(kind: 'published' | 'amended', guid: string, nowMs: number): NewEvent {
  const item = {
    guid,
    timestamp: isoSeconds(nowMs),
    source: 'RNS',
    version: null,
    issuer: { name: 'Test Company plc', instrument: { symbol: { mnemonic: 'TEST' } } },
    related: [],
    headline: 'Test announcement: no company published this',
    category: [{ kind: 'FCA', code: 'MSCL', name: 'Miscellaneous', importance: 'low' }],
    publication: [],
  }
  const read = readDisclosure(item)
  if (!read.ok) throw new TypeError('the synthetic item is not one')
  const revision = kind === 'amended' ? 2 : 1
  const held = { data: JSON.stringify(item), revision, recordedMs: nowMs, late: false }
  return disclosureEvent(read.disclosure, held)
}

function sampleGap(id: string, nowMs: number): NewEvent {
  const gap = {
    id,
    from: isoMillis(nowMs - MINUTE_MS),
    to: isoMillis(nowMs),
    cause: 'outage' as const,
    openedAt: isoMillis(nowMs),
    found: 0,
    closedAt: null,
  }
  return gapEvent(gap, GAP_OPENED, { timeMs: nowMs, recordedMs: nowMs })
}
