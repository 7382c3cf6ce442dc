/**
 * Posts events to one address as signed webhooks, several at once; a delivery that fails four times is given up. Unlike
 * the bridge's own webhook delivery, it stores no state.
 */
import type { KeyObject } from 'node:crypto'
import { ATTEMPT_LIMIT_MS, type AttemptEnd, type AttemptOutcome, outcomeOf } from '../../core/attempt-end.ts'
import { type Backoff, backoffMs } from '../../core/backoff.ts'
import { isoMillis } from '../../core/dates.ts'
import { deliveryHeaders } from '../../core/delivery-headers.ts'
import { dataBytes } from '../../core/event.ts'
import { retryAfterMs } from '../../core/retry-after.ts'
import { webhookId } from '../../core/signature.ts'
import { type Chance, type Clock, sleep } from '../../lifecycle/clock.ts'
import { classifyThrown } from '../../upstream/outcome.ts'
import { networkWordsOf } from './network-words.ts'

/** What is forwarded. */
export interface ForwardedEvent {
  id: string
  sequence: string
  /** The whole event, as the bridge wrote it. */
  json: string
}

/** How one attempt ended. */
export interface ForwardAttempt {
  event: ForwardedEvent
  webhookId: string
  /** From 1. */
  attempt: number
  /** When it began, ISO 8601. */
  at: string
  /** null where there was no response. */
  status: number | null
  outcome: AttemptOutcome
  durationMs: number
  /** Why there was no response; null where there was one. */
  reason: string | null
  /** Delay before the next attempt; null: none follows. */
  nextInMs: number | null
}

/** Where events go, and who is notified of each attempt. */
export interface ForwardOptions {
  url: string
  endpointId: string
  /** Signing key of the secret. */
  key: KeyObject
  clock: Clock
  chance: Chance
  /** Ends every attempt and every wait. */
  signal: AbortSignal
  onAttempt: (attempt: ForwardAttempt) => void
}

/** Posts events, several at once. */
export interface Forwarder {
  /** Takes an event; resolves when there is room for another. Never rejects. */
  take(event: ForwardedEvent): Promise<void>
  /** Resolves when no delivery is in flight. */
  drained(): Promise<void>
}

/** The default of `maxConcurrency` of an endpoint. */
const MOST_AT_A_TIME = 8
const MOST_ATTEMPTS = 4
/** Between attempts: about 1, 4 and 16 s, with a jitter of 0 to twice that. */
const BACKOFF: Backoff = { baseMs: 1000, factor: 4, maxMs: 16_000, jitter: 1 }
/** Upper limit of a receiver's Retry-After. */
const LONGEST_RETRY_AFTER_MS = 60_000

/** Creates an idle forwarder. */
export function createForwarder(options: ForwardOptions): Forwarder {
  const running = new Set<Promise<void>>()
  return {
    async take(event) {
      const delivery = deliver(event, options).finally(() => running.delete(delivery))
      running.add(delivery)
      if (running.size >= MOST_AT_A_TIME) await Promise.race(running)
    },
    async drained() {
      await Promise.all(running)
    },
  }
}

/** Posts until the event is accepted, given up, or the signal aborts. */
async function deliver(event: ForwardedEvent, options: ForwardOptions): Promise<void> {
  const { endpointId, clock, signal, onAttempt } = options
  const body = Buffer.from(event.json)
  const id = webhookId(endpointId, event.id, dataBytes(body))
  for (let attempt = 1; !signal.aborted; attempt++) {
    const startedMs = clock.now()
    const { end, reason } = await post(body, id, options)
    if (signal.aborted) return
    const nextInMs = waitAfter(end, attempt, options)
    onAttempt({
      event,
      webhookId: id,
      attempt,
      at: isoMillis(startedMs),
      status: end.kind === 'answered' ? end.status : null,
      outcome: outcomeOf(end),
      durationMs: clock.now() - startedMs,
      reason,
      nextInMs,
    })
    if (nextInMs === null) return
    await sleep(clock, nextInMs, signal)
  }
}

/** Delay before the next attempt; null where there is none. */
function waitAfter(end: AttemptEnd, attempt: number, { clock, chance }: ForwardOptions): number | null {
  const outcome = outcomeOf(end)
  if (outcome === 'ok' || outcome === 'gone' || attempt >= MOST_ATTEMPTS) return null
  const mayAsk = end.kind === 'answered' && (end.status === 429 || end.status === 503)
  const askedMs = mayAsk ? (retryAfterMs(end.retryAfter, clock.now()) ?? 0) : 0
  return Math.max(backoffMs(attempt, BACKOFF, chance), Math.min(askedMs, LONGEST_RETRY_AFTER_MS))
}

/** One attempt. Never rejects. `reason`: why there was no response. */
async function post(
  body: Buffer,
  id: string,
  { url, key, clock, chance, signal }: ForwardOptions,
): Promise<{ end: AttemptEnd; reason: string | null }> {
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: deliveryHeaders({ webhookId: id, body, keys: [key], own: {}, nowMs: clock.now(), chance }),
      body,
      redirect: 'manual',
      signal: AbortSignal.any([signal, AbortSignal.timeout(ATTEMPT_LIMIT_MS)]),
    })
    const { status, headers } = response
    // Only the status counts.
    await response.body?.cancel().catch(() => {})
    return { end: { kind: 'answered', status, retryAfter: headers.get('retry-after') }, reason: null }
  } catch (error) {
    const isLate = error instanceof Error && error.name === 'TimeoutError'
    const fault = isLate ? 'timeout' : classifyThrown(error).sent ? 'broken' : 'connect'
    return { end: { kind: 'failed', fault }, reason: networkWordsOf(error).what }
  }
}
