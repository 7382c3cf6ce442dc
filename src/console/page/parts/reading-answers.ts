/** Gives the types of the answers that the screens of an item, a day and the quota read, as far as they read them. */
import type { Arrivals } from '../../../api/operations/arrivals-route.ts'
import type { PollsAnswer } from '../../../api/operations/polls-route.ts'
import type { QuotaAnswer } from '../../../api/operations/quota-route.ts'

/** One London day of `GET /v1/report`. */
export interface DayAnswer {
  date: string
  polled: number
  filled: number
  swept: number
  backfilled: number
  amended: number
  rejected: number
  gapsLeft: number
  eodSeen: boolean
  /** How the daily reconciliation ended: `not_due`, `none`, `pending`, `complete`, `over_budget`, `failed`, `missed`. */
  walk: string
  walkedAt: string | null
  unreconciled?: readonly { from: string; to: string }[]
  since: string | null
  /** Units spent, by purpose. */
  units: Readonly<Record<string, number>>
}

/** `GET /v1/disclosures/{id}`: the event, with what the bridge knows about it. */
export interface EventAnswer {
  id: string
  type: string
  time: string
  subject: string
  sequence: string
  epoch: string
  cursor: string
  recordedtime: string
  late?: 'true'
  aheadof?: string
  replacesid?: string
  /** The upstream's item as it came, or a gap: nothing in it is sure. */
  data: Readonly<Record<string, unknown>>
  revisions: readonly string[]
  replacedBy: string | null
  topics: readonly string[] | null
  foundBy: string | null
  committedTime: string | null
}

/** Whether an event was late and why, in a sentence, from `GET /v1/disclosures/{id}/journey`. */
export interface LatenessAnswer {
  verdict: { late: boolean; text: string }
}

/** What became of an event at one endpoint, from `GET /v1/disclosures/{id}/deliveries`. */
export interface EventDelivery {
  endpointId: string
  url: string
  description: string | null
  /** `active`, `paused` or `disabled`. */
  status: string
  /** Whether the endpoint's filter, as it is now, lets the event through. */
  matched: boolean
  /** `pending`, `delivered`, `dead`; null: none of these. */
  state: string | null
  attempts: number
  nextAttempt: string | null
  lastStatus: number | null
  /** Why the endpoint has not got it, or not yet. */
  why: { reason: string; members: readonly string[]; detail: string } | null
}

/** A page of a list; `next` leads to the rest. */
export interface Listed<T> {
  data: readonly T[]
  next: string | null
}

/** A request to the upstream. */
export type PollAnswer = Pick<
  PollsAnswer['data'][number],
  'at' | 'upstreamAt' | 'purpose' | 'newItems' | 'pageFull' | 'nextAfterSeconds' | 'durationMs'
>

/** `GET /v1/polls`: the requests, and their sums by minute where there were too many to keep each. */
export interface PollsOfDay {
  data: readonly PollAnswer[]
  minutes: readonly Pick<PollsAnswer['minutes'][number], 'from' | 'upstreamFrom' | 'purpose' | 'requests'>[]
}

/** Each request of these screens, and its answer. */
export interface ReadingAnswers {
  'GET /v1/arrivals': Arrivals
  'GET /v1/disclosures/{id}': EventAnswer
  'GET /v1/disclosures/{id}/journey': LatenessAnswer
  'GET /v1/disclosures/{id}/deliveries': Listed<EventDelivery>
  'GET /v1/polls': PollsOfDay
  'GET /v1/quota': QuotaAnswer
  'GET /v1/report': { data: readonly DayAnswer[] }
}
