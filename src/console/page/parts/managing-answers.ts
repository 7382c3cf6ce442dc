/** Gives the types of the answers that the screens of webhooks, tokens and streams read, as far as they read them. */
import type { Filter } from '../../../../clients/typescript/src/messages.ts'
import type { Listed } from './reading-answers.ts'
import type { TokenScope } from './token-scope.ts'

/** A token of `GET /v1/tokens`. */
export interface TokenAnswer {
  id: string
  tenant: string
  scopes: readonly TokenScope[]
  name: string | null
  expiresAt: string | null
  createdAt: string
  /** The beginning of the hour in which it was last shown. */
  lastUsed: string | null
}

/** `POST /v1/tokens`: the token with its text, which no other answer has. */
export type MadeToken = Omit<TokenAnswer, 'lastUsed'> & { token: string }

/** What a stream reads. */
export interface SubscriptionAnswer {
  id: string | null
  filter: Filter
  sequence: number | null
  lagEvents: number | null
  lagSeconds: number | null
  live: boolean
}

/** An open stream of the node that answers. */
export interface StreamAnswer {
  id: string
  transport: string
  tenant: string | null
  token: { id: string; name: string | null } | null
  openedAt: string
  /** Since when its client has not taken all that was written. */
  slowSince: string | null
  eventsSent: number
  remoteAddress: string | null
  subscriptions: readonly SubscriptionAnswer[]
}

/** `GET /v1/streams`. */
export type StreamsAnswer = Listed<StreamAnswer> & { node: string }

/** A Kafka consumer group. */
export interface ConsumerAnswer {
  group: string
  state: 'stable' | 'rebalancing' | 'empty' | null
  members: number | null
  lagEvents: number | null
  lagSeconds: number | null
  topics: readonly { topic: string; lagEvents: number | null; lagSeconds: number | null }[]
}

/** `GET /v1/consumers`. */
export type ConsumersAnswer = Listed<ConsumerAnswer> & { reason: string | null }

/** `GET /v1/doctor`. */
export interface DoctorAnswer {
  data: readonly {
    level: 'ok' | 'warn' | 'fail'
    name: string
    finding: string
    /** What to do about it. */
    todo: string | null
  }[]
  /** Why there is none. */
  reason: string | null
}

/** How the deliveries of an endpoint stand; null: the node does not know. */
export interface HealthAnswer {
  pending: number | null
  oldestPending: string | null
  dead: number | null
  forgotten: number | null
  lastSuccess: string | null
  failingSince: string | null
  p50Ms: number | null
  p95Ms: number | null
}

/** A webhook endpoint. */
export interface EndpointAnswer {
  id: string
  tenant: string
  url: string
  description: string | null
  status: 'active' | 'paused' | 'disabled'
  disabledReason: string | null
  filter: Filter
  /** null: no key of the bridge opens them. */
  headers: Readonly<Record<string, string>> | null
  maxConcurrency: number
  rateLimit: number | null
  order: 'none' | 'issuer'
  maxBatch: number | null
  start: string
  createdAt: string
  health: HealthAnswer
}

/** An endpoint with its new secret, which no other answer has. */
export type EndpointWithSecret = EndpointAnswer & { secret: string }

/** An attempt to deliver. */
export interface AttemptAnswer {
  id: string
  eventId: string
  webhookId: string
  attempt: number
  at: string
  status: number | null
  outcome: string
  durationMs: number
  /** Where it was when it ended: `dns`, `connect`, `headers`, `body`. */
  phase: string
  /** The first KB of a failure's body. */
  response: string | null
}

/** How the delivery of one event stands. */
export interface DeliveryAnswer {
  eventId: string
  sequence: number
  state: 'pending' | 'delivered' | 'dead'
  attempts: number
  nextAttempt: string | null
  lastStatus: number | null
}

/** What came of a test. */
export type TestAnswer = Pick<
  AttemptAnswer,
  'webhookId' | 'status' | 'outcome' | 'durationMs' | 'phase' | 'response'
>

/** What a replay makes, or would make. */
export interface ReplayCountAnswer {
  /** null: none was begun. */
  id: string | null
  count: number
  waiting: number | null
  /** Counting ended before all were counted. */
  more: boolean
}

/** A replay that is not over. */
export interface ReplayAnswer {
  id: string
  state: 'waiting' | 'running'
  createdAt: string
  only: 'all' | 'dead' | 'ids'
  count: number | null
  after: number | null
  until: number
  position: number | null
  /** 0–1. */
  progress: number | null
}

/** Each request of these screens, and its answer. */
export interface ManagingAnswers {
  'GET /v1/tokens': Listed<TokenAnswer>
  'POST /v1/tokens': MadeToken
  'DELETE /v1/tokens/{id}': unknown
  'GET /v1/streams': StreamsAnswer
  'DELETE /v1/streams/{id}': unknown
  'GET /v1/consumers': ConsumersAnswer
  'GET /v1/doctor': DoctorAnswer
  'GET /v1/webhooks': Listed<EndpointAnswer>
  'POST /v1/webhooks': EndpointWithSecret
  'GET /v1/webhooks/{id}': EndpointAnswer
  'PATCH /v1/webhooks/{id}': EndpointAnswer
  'DELETE /v1/webhooks/{id}': unknown
  'POST /v1/webhooks/{id}/rotate': EndpointWithSecret
  'POST /v1/webhooks/{id}/enable': EndpointAnswer
  'POST /v1/webhooks/{id}/disable': EndpointAnswer
  'POST /v1/webhooks/{id}/test': TestAnswer
  'GET /v1/webhooks/{id}/attempts': Listed<AttemptAnswer>
  'GET /v1/webhooks/{id}/deliveries': Listed<DeliveryAnswer>
  'POST /v1/webhooks/{id}/replay': ReplayCountAnswer
  'GET /v1/webhooks/{id}/replays': Listed<ReplayAnswer>
  'DELETE /v1/webhooks/{id}/replays/{replayId}': unknown
}
