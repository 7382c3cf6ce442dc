/**
 * Answers the nodes' requests for upstream's reference data of stock exchanges, on the leader. The data is public: a request
 * costs no unit and carries no key, but it takes a token of the rate limit, and polls have precedence for a moment.
 */
import { EXCHANGES_PATH } from '../../core/upstream-paths.ts'
import type { TokenBucket } from '../../governor/quota/token-bucket.ts'
import { type Clock, sleep } from '../../lifecycle/clock.ts'
import type { Logger } from '../../obs/logger.ts'
import { type Throttle, withoutValue } from '../../upstream/client.ts'
import { type ExchangeReference, isMic } from '../../upstream/exchange.ts'
import { encodeReply, type LeaderReply, LONGEST_TEXT, refused } from '../../upstream/leader-reply.ts'
import { failureWords, type Outcome } from '../../upstream/outcome.ts'
import { PAUSED } from '../../upstream/paused-reply.ts'
import type { ReferenceClient } from '../../upstream/reference-client.ts'
import { isIdle, refillOf } from '../poller/idle-throttle.ts'
import type { Poller } from '../poller/poller.ts'

/** What the handler is built from. */
export interface ReferenceRequestHandlerParts {
  client: ReferenceClient
  poller: Pick<Poller, 'state' | 'leaderSinceMs'>
  /** The token bucket that the poller uses too. */
  bucket: TokenBucket
  ratePerSecond: number
  clock: Clock
  logger: Logger
}

/** Pause between two checks whether a request may leave. */
const CHECK_MS = 25
/** A check that comes so late shows that the process was frozen; another one may lead after 6 s of silence. */
const FROZEN_MS = 3_000
/** How long a request waits for a moment without polls. Then it takes the next token, which delays the polls after it. */
const GRACE_MS = 300
/** Longest wait for that token. The bucket keeps the last token of a burst unused, so that one early request fits. */
const LONGEST_TOKEN_WAIT_MS = 1_000
/** Most requests that may wait; a further one is answered with 503. */
const MOST_WAITING = 100
/** Retry-After of a failure, ms. */
const AGAIN_MS = 5_000
/** Largest page that the specification allows. */
const PAGE_SIZE = 200
/** The registry has some 1,600 operating MICs; a list beyond these limits never ends. */
const MOST_PAGES = 50
const MOST_EXCHANGES = 10_000

/** Whether a request is for exchange references: the path of the list, or of one exchange. */
export function isReferenceTarget(target: string): boolean {
  return target === EXCHANGES_PATH || isMic(micIn(target))
}

/** What follows the path of the list; empty where the target does not begin with it. */
function micIn(target: string): string {
  const path = `${EXCHANGES_PATH}/`
  return target.startsWith(path) ? target.slice(path.length) : ''
}

/** The handler of a process that may lead. */
export class ReferenceRequestHandler {
  readonly #parts: ReferenceRequestHandlerParts
  /** Replies that are on their way, by target. */
  readonly #reading = new Map<string, Promise<LeaderReply>>()
  /** Ends with the last request: one is sent at a time. */
  #queue: Promise<unknown> = Promise.resolve()

  constructor(parts: ReferenceRequestHandlerParts) {
    this.#parts = parts
  }

  /**
   * The encoded reply to a request: of the list an array of ExchangeReference as JSON, of an exchange its text. `asked` aborts
   * when the client has gone, `running` when this process stops. Rejects only for faults of ours.
   */
  async answer(target: string, asked: AbortSignal, running: AbortSignal): Promise<string> {
    const { poller, clock } = this.#parts
    while (poller.leaderSinceMs === null && !asked.aborted) await sleep(clock, CHECK_MS, asked)
    if (asked.aborted) return encodeReply(refused(503, 'the client no longer waits', null, null))
    return encodeReply(await (this.#reading.get(target) ?? this.#enqueue(target, running)))
  }

  #enqueue(target: string, running: AbortSignal): Promise<LeaderReply> | LeaderReply {
    if (this.#reading.size >= MOST_WAITING) {
      return refused(503, `${MOST_WAITING} requests wait at the leading bridge already`, null, AGAIN_MS)
    }
    const reply = this.#queue.then(() => this.#read(target, running))
    this.#queue = reply.catch(() => undefined)
    this.#reading.set(target, reply)
    const remove = (): void => void this.#reading.delete(target)
    reply.then(remove, remove)
    return reply
  }

  async #read(target: string, running: AbortSignal): Promise<LeaderReply> {
    const { client, poller, clock, logger } = this.#parts
    const { upstream, blockedUntilMs } = poller.state
    const startMs = clock.now()
    if (upstream === 'throttled' && blockedUntilMs > startMs) {
      return refused(503, 'upstream is throttling requests at the moment', null, blockedUntilMs - startMs)
    }
    const stop = new AbortController()
    const signal = AbortSignal.any([running, stop.signal])
    const permit = { throttle: () => this.#throttle(stop, running) }
    const mic = micIn(target)
    const outcome =
      mic === '' ? await this.#readList(permit, signal) : textOf(await client.exchange(mic, permit, signal))
    const reply = stop.signal.aborted && poller.state.pausedSinceMs !== null ? PAUSED : replyOf(outcome)
    logger[reply.status === 503 ? 'warn' : 'info']('exchange_references.read', {
      path: target,
      status: reply.status,
      ...(outcome.kind !== 'ok' && { reason: failureWords(outcome) }),
      durationMs: clock.now() - startMs,
    })
    return reply
  }

  /** All entries of the list as ExchangeReferences in JSON, sorted by MIC. */
  async #readList(permit: Throttle, signal: AbortSignal): Promise<Outcome<string>> {
    /** Entries in JSON, by MIC. */
    const listed = new Map<string, string>()
    let characters = 0
    let pageCursor: string | undefined
    for (let page = 1; ; page++) {
      const query = { pageSize: PAGE_SIZE, ...(pageCursor !== undefined && { pageCursor }) }
      const outcome = await this.#parts.client.exchanges(query, permit, signal)
      if (outcome.kind !== 'ok') return outcome
      const { exchanges, nextCursor } = outcome.value
      for (const { mic, text } of exchanges) {
        const entry = JSON.stringify({ mic, text } satisfies ExchangeReference)
        listed.set(mic, entry)
        characters += entry.length + 1
      }
      const isTooLong = characters > LONGEST_TEXT - 1
      if (nextCursor === null && listed.size > 0 && !isTooLong) return { ...outcome, value: listText(listed) }
      const isEndless = page === MOST_PAGES || listed.size > MOST_EXCHANGES || nextCursor === pageCursor
      if (typeof nextCursor !== 'string' || isEndless || isTooLong) {
        const reason = faultOf(listed, page, isTooLong)
        return { ...withoutValue(outcome), kind: 'invalid', reason }
      }
      pageCursor = nextCursor
    }
  }

  /** Waits until a request may leave; aborts the reading once this process no longer leads, or polling is paused. */
  async #throttle(stop: AbortController, running: AbortSignal): Promise<void> {
    const { poller, bucket, clock } = this.#parts
    const sinceMs = clock.now()
    let lastCheckMs = Number.NEGATIVE_INFINITY
    while (!running.aborted) {
      const nowMs = clock.now()
      // After a freeze, one more check lets the timers that end a lost leadership run first. The first check may follow one.
      const wasFrozen = nowMs - lastCheckMs > FROZEN_MS
      lastCheckMs = nowMs
      if (!mayRead(poller)) return stop.abort()
      const isFree =
        isIdle(poller.state, { nowMs, refillMs: refillOf(this.#parts), keyless: true }) &&
        bucket.msUntilFull(nowMs) === 0
      // A clock that was set back ends the wait too.
      if (!wasFrozen && (isFree || Math.abs(nowMs - sinceMs) >= GRACE_MS)) {
        await sleep(clock, Math.min(bucket.take(nowMs) - nowMs, LONGEST_TOKEN_WAIT_MS), running)
        return mayRead(poller) ? undefined : stop.abort()
      }
      await sleep(clock, CHECK_MS, running)
    }
  }
}

/** Whether this process may send a request at all. */
function mayRead({ state, leaderSinceMs }: Pick<Poller, 'state' | 'leaderSinceMs'>): boolean {
  return leaderSinceMs !== null && state.pausedSinceMs === null
}

/** The list of these entries, sorted by MIC. */
function listText(listed: ReadonlyMap<string, string>): string {
  const entries = [...listed].sort(([left], [right]) => (left < right ? -1 : 1))
  return `[${entries.map(([, entry]) => entry).join(',')}]`
}

/** Why the list cannot be used. */
function faultOf({ size }: ReadonlyMap<string, string>, page: number, isTooLong: boolean): string {
  if (size === 0) return 'the list is empty'
  return isTooLong
    ? `the list has more than ${LONGEST_TEXT} characters after page ${page}`
    : `the list does not end after page ${page}`
}

function textOf(outcome: Outcome<ExchangeReference>): Outcome<string> {
  return outcome.kind === 'ok' ? { ...outcome, value: outcome.value.text } : outcome
}

function replyOf(outcome: Outcome<string>): LeaderReply {
  if (outcome.kind === 'ok') {
    return { status: 200, text: outcome.value, refusal: null, retryAfterMs: null, validMs: 0 }
  }
  if (outcome.kind === 'refused' && outcome.status === 404) {
    return refused(404, outcome.message || 'upstream has no such exchange', outcome.hint, null)
  }
  const hint = `Upstream: ${failureWords(outcome)}. Try again after the seconds in Retry-After.`
  return refused(503, 'the exchange references cannot be read from upstream now', hint, AGAIN_MS)
}
