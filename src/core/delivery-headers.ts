/**
 * Builds the HTTP headers of one attempt to deliver a webhook: Standard Webhooks id, time and signature, content type and
 * trace context. The headers that an endpoint's owner has configured never replace these.
 */
import type { KeyObject } from 'node:crypto'
import { signatures } from './signature.ts'
import { VERSION } from './version.ts'

/** Of a body with one event. */
export const CONTENT_TYPE = 'application/cloudevents+json; charset=utf-8'
/** Of a body that is a JSON array of events. */
export const BATCH_CONTENT_TYPE = 'application/cloudevents-batch+json; charset=utf-8'
/** A span of zeros alone is none. */
const NO_SPAN = /^0+$/
/** Half a span: two of eight digits make it. */
const HALF = { digits: 8, values: 2 ** 32 }

/** What the headers are made from. */
export interface Signed {
  webhookId: string
  /** By default that of one event. */
  contentType?: string
  body: Uint8Array
  /** Of the secrets that sign, the newest first. */
  keys: readonly KeyObject[]
  /** The endpoint's own. */
  own: Readonly<Record<string, string>>
  nowMs: number
  /** Numbers in [0, 1), for the trace. */
  chance: () => number
  /** The header of that name, where the attempt is part of a trace that is recorded. */
  traceparent?: string
}

/** Headers of an attempt, names in lower case. */
export function deliveryHeaders({
  webhookId,
  contentType = CONTENT_TYPE,
  body,
  keys,
  own,
  nowMs,
  chance,
  traceparent = ownTraceparent(webhookId, chance),
}: Signed): Record<string, string> {
  const timestampSeconds = Math.floor(nowMs / 1000)
  const kept = Object.entries(own).map(([name, value]) => [name.toLowerCase(), value])
  return {
    'user-agent': `disclosure-bridge/${VERSION}`,
    ...Object.fromEntries(kept),
    'content-type': contentType,
    'webhook-id': webhookId,
    'webhook-timestamp': timestampSeconds.toString(),
    'webhook-signature': signatures({ id: webhookId, timestampSeconds, body }, keys),
    traceparent,
  }
}

/** W3C Trace Context: one trace for all tries of a delivery, taken from its id; a span for each. */
function ownTraceparent(webhookId: string, chance: () => number): string {
  const trace = webhookId.slice(webhookId.indexOf('_') + 1)
  const half = (): string =>
    Math.floor(chance() * HALF.values)
      .toString(16)
      .padStart(HALF.digits, '0')
  const span = half() + half()
  return `00-${trace}-${NO_SPAN.test(span) ? span.replace(/0$/, '1') : span}-01`
}
