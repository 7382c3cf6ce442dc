/**
 * Defines and parses the rows of the log's table `endpoints`: one row, a key with a JSON value, for each webhook
 * endpoint.
 */
import { createHash } from 'node:crypto'
import { z } from 'zod'
import { endpointStatuses } from '../core/endpoint-status.ts'
import { type Filter, webhookKinds } from '../core/filter/filter.ts'
import { parseFilter } from '../core/filter/filter-parse.ts'
import { isBridgeError } from '../errors.ts'
import { forOlderBuilds, type LaterTypes, withLaterTypes } from './older-filter.ts'

/** The table of the log that holds them. */
export const ENDPOINTS_TABLE = 'endpoints'

/** Why an endpoint is disabled: its owner asked for it, it answered 410, it failed for five days. */
export type DisabledReason = 'requested' | 'gone' | 'failing'

/** What must arrive in order: nothing, or the events of one issuer (`subject`). */
export const endpointOrders = ['none', 'issuer'] as const

/** Bounds of `maxBatch`. */
export const BATCH = { low: 2, high: 100 }
/** Most deliveries to one endpoint at a time. */
export const MAX_CONCURRENCY = 64

const secret = z.object({
  /** Encrypted by `webhooks/endpoints/secrets.ts`. */
  wrapped: z.string(),
  /** Until when it signs beside the one that took its place, ms since 1970; null = no end is set. */
  untilMs: z.number().nullable(),
})

/** A secret of an endpoint, encrypted. */
export type EndpointSecret = Readonly<z.infer<typeof secret>>

/** What a row holds, in the order in which it is written: `measureRow` depends on it. Times are ms since 1970. */
const endpointRow = z.object({
  kind: z.literal('endpoint'),
  tenant: z.string(),
  /** As `judgeUrl` gave it. */
  url: z.string(),
  description: z.string().nullable(),
  status: z.enum(endpointStatuses),
  /** A `DisabledReason`, or one of a newer version; null unless it is disabled. */
  disabledReason: z.string().nullable(),
  /** In the canonical form of `parseFilter`. */
  filter: z.unknown().transform((value, context): Filter => readFilter(value, context) ?? z.NEVER),
  /** Sent with every delivery: encrypted by `webhooks/endpoints/stored-headers.ts`. In clear where there are none, and in rows of older builds. */
  headers: z.union([z.string(), z.record(z.string(), z.string()).readonly()]),
  maxConcurrency: z.int().positive().max(MAX_CONCURRENCY),
  /** Deliveries a second; null = as many as it takes. */
  rateLimit: z.number().positive().nullable(),
  order: z.enum(endpointOrders),
  /** Most events of one request; absent: each has its own. Builds before know no batches and leave it out. */
  maxBatch: z.int().min(BATCH.low).max(BATCH.high).optional(),
  /** The cursor after which its deliveries begin, decided when it was created. */
  start: z.string(),
  createdAtMs: z.number(),
  /** The newest first; never empty. */
  secrets: z.array(secret).min(1).readonly(),
})

/** Everything that is kept of an endpoint but its id. */
export type EndpointRow = z.infer<typeof endpointRow>

/** What a stored row has beside the endpoint: parts of its filter that the build before cannot read. */
const laterTypes = z.record(z.string(), z.array(z.enum(webhookKinds)))

/** The row in a value of the table; null where it is none. */
export function readEndpointRow(value: unknown): EndpointRow | null {
  const row = endpointRow.safeParse(value).data
  if (row === undefined) return null
  const later = z.object({ laterTypes }).safeParse(value).data
  return later === undefined ? row : { ...row, filter: withLaterTypes(row.filter, later.laterTypes) }
}

/** The value of the table for a row: `readEndpointRow` gives the row back, and the build before can read it too. */
export function storedEndpointRow(row: EndpointRow): EndpointRow & { laterTypes?: LaterTypes } {
  const { filter, laterTypes } = forOlderBuilds(row.filter)
  return laterTypes === null ? row : { ...row, filter, laterTypes }
}

/** The fingerprint of an endpoint's state, the same on all nodes (16 hex digits), and the size of its row. */
export function measureRow(row: EndpointRow): { version: string; bytes: number } {
  const text = JSON.stringify(row)
  const version = createHash('sha256').update(text).digest('hex').slice(0, 16)
  return { version, bytes: Buffer.byteLength(text) }
}

function readFilter(value: unknown, context: z.core.$RefinementCtx): Filter | null {
  try {
    return parseFilter(value, 'filter', webhookKinds)
  } catch (error) {
    if (!isBridgeError(error, 'filter_invalid')) throw error
    context.addIssue({ code: 'custom', message: error.message })
    return null
  }
}
