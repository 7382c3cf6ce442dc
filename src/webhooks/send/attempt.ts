/**
 * Makes one delivery attempt: resolves the name, checks the addresses, connects, sends and reads, within limits of time and bytes.
 */
import { ATTEMPT_LIMIT_MS, type AttemptEnd, type AttemptFault } from '../../core/attempt-end.ts'
import { aborted } from '../../lifecycle/aborted.ts'
import type { Clock } from '../../lifecycle/clock.ts'
import { type Checked, checkAddresses } from '../address/guard.ts'
import type { WebhookTarget } from '../address/judge-url.ts'
import type { Borrowed, Pools } from '../address/pools.ts'
import type { Resolve } from '../address/resolver.ts'
import type { AddressRules } from '../address/rules.ts'
import { type AttemptPhase, AttemptTimer } from './attempt-timer.ts'
import { type ExchangeEnd, exchange, type Post, STOPPED } from './exchange.ts'

/** Limits of an attempt, ms. */
export const attemptLimits = {
  wholeMs: ATTEMPT_LIMIT_MS,
  dnsMs: 5_000,
  /** TCP and TLS, over all addresses of the name. */
  connectMs: 5_000,
  /** For the body, once the status is known: what is read of it serves the journal and the connection alone. */
  bodyMs: 2_000,
} as const

/** Most addresses of one name that are tried. */
const MOST_ADDRESSES = 4

/** A connection that ends so soon after a request has left was most likely ended before, by its receiver. */
const LOST_WITHIN_MS = 1_000

/** What an attempt needs of the process. */
export interface AttemptMeans {
  rules: AddressRules
  resolve: Resolve
  pools: Pools
  clock: Clock
}

/** How an attempt went. */
export interface AttemptReport {
  /**
   * `aborted`: by the caller's signal, before a status was known; no outcome, and it may have been received. Or the request was
   * not to leave any more, and did not. `no_socket`: this machine could open no connection; nothing was sent.
   */
  end: AttemptEnd | { kind: 'aborted' } | { kind: 'no_socket' }
  /** Where it was when it ended. */
  phase: AttemptPhase
  startedMs: number
  durationMs: number
  /** The first 1 KB of a failure's body; null where there is none, or it is packed. */
  response: string | null
  /** For the operator's log, never for a tenant: the refused net, the socket's error; null after an answer. */
  detail: string | null
}

/** Whether the request left; false where there was no connection. */
export function isSent({ phase }: Pick<AttemptReport, 'phase'>): boolean {
  return phase === 'head' || phase === 'body'
}

/** Sends once. Never rejects, and is over in 15 s whatever the receiver does. */
export async function attemptDelivery(
  target: WebhookTarget,
  post: Omit<Post, 'path'>,
  means: AttemptMeans,
  signal: AbortSignal,
): Promise<AttemptReport> {
  const timer = new AttemptTimer(means.clock, signal, attemptLimits.wholeMs)
  try {
    timer.enter('dns', attemptLimits.dnsMs)
    const checking = checkAddresses(target, means.rules, means.resolve)
    const checked = await Promise.race([aborted(timer.signal).then(() => null), checking])
    if (checked?.kind !== 'addresses') return report(timer, notChecked(checked))
    timer.enter('connect', attemptLimits.connectMs)
    return report(timer, await overAddresses(checked.addresses, target, post, means, timer))
  } finally {
    timer.end()
  }
}

/**
 * Tries one address after the other until one is connected to; each gets its share of the time that is left. A request that was
 * lost with a connection that had idled is sent once more, over a new one. Where that cannot be made, the first one counts.
 */
async function overAddresses(
  addresses: readonly string[],
  target: WebhookTarget,
  post: Omit<Post, 'path'>,
  { pools, clock }: AttemptMeans,
  timer: AttemptTimer,
): Promise<ExchangeEnd> {
  const count = Math.min(addresses.length, MOST_ADDRESSES)
  const untilMs = clock.now() + attemptLimits.connectMs
  const sent = { ...post, path: target.path }
  let end: ExchangeEnd = { kind: 'failed', fault: 'connect', detail: 'no address' }
  for (let at = 0; at < count; at++) {
    if (!post.mayLeave()) return STOPPED
    const address = addresses[at] ?? ''
    const shareMs = at === count - 1 ? null : (untilMs - clock.now()) / (count - at)
    const limits = { shareMs, clock, timer }
    const borrowed = pools.borrow(target, address)
    end = await overConnection(borrowed, sent, limits)
    // The receiver most likely ended the connection for its idling, and has read nothing. If it has, it knows the `webhook-id`.
    if (isLost(end, timer) && borrowed.hadIdled() && post.mayLeave()) {
      timer.enter('connect', attemptLimits.connectMs)
      const again = await overConnection(pools.borrow(target, address, 'new'), sent, limits)
      if (isSent(timer)) return again
      timer.enter('head', attemptLimits.wholeMs)
      return end
    }
    const unconnected = end.kind === 'failed' && timer.phase === 'connect' && end.fault !== 'blocked'
    if (!unconnected || timer.signal.aborted) return end
  }
  return end
}

/** One exchange. Until the request leaves it has `shareMs`; null: as long as the attempt. */
async function overConnection(
  { dispatcher, release }: Borrowed,
  post: Post,
  { shareMs, clock, timer }: { shareMs: number | null; clock: Clock; timer: AttemptTimer },
): Promise<ExchangeEnd> {
  const share = new AbortController()
  const endShare = shareMs === null ? () => undefined : clock.after(shareMs, () => share.abort())
  const signal = shareMs === null ? timer.signal : AbortSignal.any([timer.signal, share.signal])
  const end = await exchange(dispatcher, post, signal, (step) => {
    endShare()
    if (step === 'sending') timer.enter('head', attemptLimits.wholeMs)
    else timer.enter('body', attemptLimits.bodyMs)
  })
  endShare()
  release(end.kind === 'answered' ? 'again' : 'end')
  return end
}

/** The request left, and at once its connection ended, before a byte of an answer. */
function isLost(end: ExchangeEnd, { phase, phaseMs }: AttemptTimer): boolean {
  const isUnanswered = end.kind === 'failed' && end.fault === 'connect' && phase === 'head'
  return isUnanswered && phaseMs < LOST_WITHIN_MS
}

function notChecked(
  checked: Checked | null,
): ExchangeEnd | { kind: 'failed'; fault: AttemptFault; detail: string } {
  if (checked?.kind === 'blocked') {
    return { kind: 'failed', fault: checked.isByName ? 'blocked_name' : 'blocked', detail: checked.why }
  }
  if (checked?.kind === 'unresolved') return { kind: 'failed', fault: 'dns', detail: checked.reason }
  return { kind: 'failed', fault: null, detail: 'aborted' }
}

function report(
  timer: AttemptTimer,
  end: ExchangeEnd | { kind: 'failed'; fault: AttemptFault | 'no_socket' | null; detail: string },
): AttemptReport {
  const times = timer.times()
  if (end.kind === 'answered') {
    const { excerpt, ...answer } = end
    return { end: answer, ...times, response: excerpt, detail: null }
  }
  if (end.fault === null && !timer.isLate) {
    return { end: { kind: 'aborted' }, ...times, response: null, detail: null }
  }
  if (end.fault === 'no_socket') {
    return { end: { kind: 'no_socket' }, ...times, response: null, detail: end.detail }
  }
  return {
    end: { kind: 'failed', fault: end.fault ?? 'timeout' },
    ...times,
    response: null,
    detail: end.fault === null ? `no end after ${timer.phaseMs} ms of ${times.phase}` : end.detail,
  }
}
