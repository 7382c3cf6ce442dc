/**
 * Explains why an endpoint has not got an event, or not yet. The filter itself says which of its members leave the event
 * out, and reading itself where the endpoint's deliveries begin.
 */

import type { Reader } from '../../archive/reading/reader.ts'
import { type Resume, resumeAt, throughCursor } from '../../archive/reading/resume.ts'
import type { StoredEvent } from '../../archive/store/stored.ts'
import { mismatches } from '../../core/filter/filter.ts'
import { isOptedIn } from '../../core/filter/webhook-opt-in.ts'
import type { Endpoint } from '../../registry/endpoints.ts'
import { ATTEMPTS_KEPT_MS } from '../attempts/attempt-record.ts'
import type { DeliveryState, KeptDelivery } from '../attempts/attempt-store.ts'
import type { DeliveryPlace } from './delivery-place.ts'

/** Each reason with a sentence for the person who asks. */
const reasons = {
  filter: 'the filter leaves the event out, by the members that are named',
  type: 'it is a gap event, and `types` of the filter does not name `gap`',
  before_start: 'the event is before the start of the endpoint; a replay sends it',
  other_epoch:
    'the log has begun a new epoch since the endpoint was made; what was delivered in the epoch before is not listed here',
  paused: 'the endpoint is paused; the event is sent once it is active again',
  disabled: 'the endpoint is disabled; the event is sent once it is active again',
  not_read: 'the endpoint is behind and has not come to the event yet',
  under_way: 'the first attempt is under way, or waits for its turn or for the end of a pause (Retry-After)',
  no_record:
    'the endpoint has passed the event, and no attempt is kept: it is longer ago than a week, or the filter was another one then',
  unknown:
    'no node that delivers has said how far the endpoint has come; see `/readyz` of the nodes with the role webhooks',
} as const

/** Why an endpoint has not got an event. */
export type DeliveryReason = keyof typeof reasons
/** All of them. */
export const deliveryReasons = Object.keys(reasons) as DeliveryReason[]

/** What is known of an event at an endpoint. */
export interface Circumstances {
  endpoint: Endpoint
  event: Pick<StoredEvent, 'sequence' | 'recordedMs' | 'facts'>
  /** The delivery as its attempts left it; undefined where none is kept. */
  kept: KeptDelivery | undefined
  place: DeliveryPlace
  reader: Reader
  nowMs: number
}

/** What became of the event at the endpoint. */
export interface Explanation {
  /** Whether the filter lets the event through, as it is now. */
  matched: boolean
  /** null: nothing is to be delivered, or nobody knows. */
  state: DeliveryState | null
  /** null where it was delivered, was given up, or waits for its next try. */
  why: { reason: DeliveryReason; members: string[]; detail: string } | null
}

/** Explains what became of an event at an endpoint. */
export function explainDelivery(circumstances: Circumstances): Explanation {
  const { endpoint, event, kept, place } = circumstances
  const { filter } = endpoint
  const members = mismatches(filter, event.facts)
  const isOpted = isOptedIn(filter, event.facts)
  const matched = isOpted && members.length === 0
  const held = endpoint.status === 'active' ? null : endpoint.status
  const is = (state: DeliveryState | null, reason: DeliveryReason | null): Explanation => {
    const why = reason && { reason, members: reason === 'filter' ? members : [], detail: reasons[reason] }
    return { matched, state, why }
  }
  if (kept !== undefined) return is(kept.state, kept.state === 'pending' ? held : null)
  if (place === 'unfinished') return is('pending', held ?? 'under_way')
  if (!isOpted) return is(null, 'type')
  if (!matched) return is(null, 'filter')
  const { start, isOtherEpoch } = startOf(circumstances)
  if (event.sequence <= throughCursor(circumstances.reader, endpoint.start)) return is(null, 'before_start')
  if (event.sequence <= start) return is(null, isOtherEpoch ? 'other_epoch' : 'before_start')
  if (place === 'unread') return is('pending', held ?? 'not_read')
  if (place === 'recent') return is('pending', held ?? 'under_way')
  if (place === 'unknown') return is(null, held ?? 'unknown')
  return is(null, isOtherEpoch && isRecorded(circumstances) ? 'other_epoch' : 'no_record')
}

/** The sequence after which the endpoint's deliveries began in the present epoch. */
function startOf({ endpoint, reader, nowMs }: Circumstances): { start: number; isOtherEpoch: boolean } {
  const resume: Resume = resumeAt(reader, endpoint.start, nowMs)
  if (resume.kind === 'too_old') return { start: reader.oldest - 1, isOtherEpoch: false }
  return { start: resume.after, isOtherEpoch: resume.localGap !== null }
}

/** Whether attempts of the event would still be kept. */
function isRecorded({ event, nowMs }: Circumstances): boolean {
  return Math.abs(nowMs - event.recordedMs) < ATTEMPTS_KEPT_MS
}
