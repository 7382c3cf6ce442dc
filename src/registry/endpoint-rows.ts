/**
 * What the log's table `endpoints` holds: one row an endpoint. Owns the shape and reading it back. Refuses to unwrap
 * secrets, and to judge URLs and headers again: whoever wrote the row did.
 */
import { createHash } from 'node:crypto'
import { type EndpointStatus, endpointStatuses } from '../core/endpoint-status.ts'
import type { Filter } from '../core/filter/filter.ts'
import { webhookKinds } from '../core/filter/filter.ts'
import { parseFilter } from '../core/filter/filter-parse.ts'
import { isBridgeError } from '../errors.ts'

/** The table of the log that holds them. */
export const ENDPOINTS_TABLE = 'endpoints'

/** Why an endpoint is disabled: its owner asked for it, it answered 410, it failed for five days. */
export type DisabledReason = 'requested' | 'gone' | 'failing'

/** What must arrive in order: nothing, or the events of one issuer (`subject`). */
export const endpointOrders = ['none', 'issuer'] as const
/** One of them. */
export type EndpointOrder = (typeof endpointOrders)[number]

/** Most deliveries to one endpoint at a time. */
export const MAX_CONCURRENCY = 64

/** A secret of an endpoint, wrapped (`webhooks/endpoints/secrets.ts`). */
export interface EndpointSecret {
  wrapped: string
  /** Until when it signs beside the one that took its place, ms since 1970; null = no end is set. */
  untilMs: number | null
}

/** Everything that is kept of an endpoint but its id. Times are ms since 1970. */
export interface EndpointRow {
  kind: 'endpoint'
  tenant: string
  /** As `judgeUrl` gave it. */
  url: string
  description: string | null
  status: EndpointStatus
  /** A `DisabledReason`, or one of a newer version; null unless it is disabled. */
  disabledReason: string | null
  /** In the canonical form of `parseFilter`. */
  filter: Filter
  /** Sent with every delivery. */
  headers: Readonly<Record<string, string>>
  /** 1 to MAX_CONCURRENCY. */
  maxConcurrency: number
  /** Deliveries a second; null = as many as it takes. */
  rateLimit: number | null
  order: EndpointOrder
  /** The cursor after which its deliveries begin, decided when it was created. */
  start: string
  createdAtMs: number
  /** The newest first; never empty. */
  secrets: readonly EndpointSecret[]
}

/** The row in a value of the table; null where it is none. */
export function readEndpointRow(value: unknown): EndpointRow | null {
  if (!isRecord(value) || value.kind !== 'endpoint') return null
  const { tenant, url, description, status, disabledReason, headers } = value
  const { maxConcurrency, rateLimit, order, start, createdAtMs, secrets } = value
  const filter = readFilter(value.filter)
  const isEndpoint =
    typeof tenant === 'string' &&
    typeof url === 'string' &&
    isTextOrNull(description) &&
    isOneOf(status, endpointStatuses) &&
    isTextOrNull(disabledReason) &&
    filter !== null &&
    isTexts(headers) &&
    isPositive(maxConcurrency) &&
    Number.isInteger(maxConcurrency) &&
    maxConcurrency <= MAX_CONCURRENCY &&
    (rateLimit === null || isPositive(rateLimit)) &&
    isOneOf(order, endpointOrders) &&
    typeof start === 'string' &&
    isTime(createdAtMs) &&
    Array.isArray(secrets) &&
    secrets.length > 0 &&
    secrets.every(isSecret)
  if (!isEndpoint) return null
  return {
    kind: 'endpoint',
    tenant,
    url,
    description,
    status,
    disabledReason,
    filter,
    headers,
    maxConcurrency,
    rateLimit,
    order,
    start,
    createdAtMs,
    secrets: secrets.map(({ wrapped, untilMs }) => ({ wrapped, untilMs })),
  }
}

/** Tells one state of an endpoint from every other, the same on all nodes: 16 hex digits. And the size of its row. */
export function measureRow(row: EndpointRow): { version: string; bytes: number } {
  const text = JSON.stringify(row)
  const version = createHash('sha256').update(text).digest('hex').slice(0, 16)
  return { version, bytes: Buffer.byteLength(text) }
}

function readFilter(value: unknown): Filter | null {
  try {
    return parseFilter(value, 'filter', webhookKinds)
  } catch (error) {
    if (!isBridgeError(error, 'filter_invalid')) throw error
    return null
  }
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return value !== null && typeof value === 'object' && !Array.isArray(value)
}

function isTexts(value: unknown): value is Readonly<Record<string, string>> {
  return isRecord(value) && Object.values(value).every((text) => typeof text === 'string')
}

function isTextOrNull(value: unknown): value is string | null {
  return value === null || typeof value === 'string'
}

function isOneOf<W extends string>(value: unknown, words: readonly W[]): value is W {
  return words.some((word) => word === value)
}

function isPositive(value: unknown): value is number {
  return isTime(value) && value > 0
}

function isTime(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value)
}

function isSecret(value: unknown): value is EndpointSecret {
  return (
    isRecord(value) && typeof value.wrapped === 'string' && (value.untilMs === null || isTime(value.untilMs))
  )
}
