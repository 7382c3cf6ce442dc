/**
 * Answers clients' requests for fund data on the leader, for every node: from a cache while a reply is valid, else from
 * upstream. It sends one request at a time, only while the poller is idle, and within the share of the weekly quota that is
 * reserved for fund data.
 */
import type { TokenBucket } from '../../governor/quota/token-bucket.ts'
import { type Clock, sleep } from '../../lifecycle/clock.ts'
import type { Logger } from '../../obs/logger.ts'
import type { UpstreamPlan } from '../../settings/settings.ts'
import type { FundClient } from '../../upstream/fund-client.ts'
import { type FundRequest, fundTarget, readFundTarget } from '../../upstream/fund-target.ts'
import { createKeptReplies, type KeptReplies } from '../../upstream/kept-replies.ts'
import { encodeReply, type LeaderReply, refused } from '../../upstream/leader-reply.ts'
import { isIdle, refillOf } from '../poller/idle-throttle.ts'
import type { Poller } from '../poller/poller.ts'
import { replyOf } from './fund-replies.ts'
import { planRefusal, refusalAt } from './refusals.ts'

/** What the request handler is built from. */
export interface FundRequestHandlerParts {
  poller: Pick<Poller, 'state' | 'leaderSinceMs' | 'proxy'>
  client: FundClient
  /** The token bucket that the poller uses too. */
  bucket: TokenBucket
  plan: UpstreamPlan
  /** Units a week that fund requests may spend. */
  weeklyUnits: number
  clock: Clock
  logger: Logger
}

/** Pause between two checks whether a waiting request may leave. */
const CHECK_MS = 25
/** Most requests that may wait; a further one is answered with 503. */
const MOST_WAITING = 100
/** Retry-After of a full queue, ms. */
const QUEUE_FULL_RETRY_MS = 5_000
const LEADING = ['polling', 'filling', 'rescanning', 'backfilling']
const NO_CLIENT = refused(503, 'the client no longer waits for this request', null, null)

/** A request in the queue, shared by every client that asks for the same target. */
interface Waiting {
  readonly request: FundRequest
  reply: Promise<LeaderReply>
  clients: number
  readonly arrivedMs: number
}

/** The request handler of a process that may lead. */
export class FundRequestHandler {
  readonly #parts: FundRequestHandlerParts
  readonly #replies: KeptReplies
  readonly #waiting = new Map<string, Waiting>()
  /** Ends with the last request of the queue. */
  #queue: Promise<unknown> = Promise.resolve()

  constructor(parts: FundRequestHandlerParts) {
    this.#parts = parts
    this.#replies = createKeptReplies(parts.clock)
  }

  /**
   * The encoded reply to a request. `asked` aborts when the client has gone, `running` when this process stops. Rejects only
   * for faults of ours.
   */
  async answer(sent: string, asked: AbortSignal, running: AbortSignal): Promise<string> {
    const request = readFundTarget(sent)
    if (request === null) return encodeReply(refused(400, 'this is not a fund request', null, null))
    return encodeReply(await this.#replyTo(request, asked, running))
  }

  async #replyTo(request: FundRequest, asked: AbortSignal, running: AbortSignal): Promise<LeaderReply> {
    const target = fundTarget(request)
    while (!this.#isLeading() && !asked.aborted) await sleep(this.#parts.clock, CHECK_MS, asked)
    if (asked.aborted) return NO_CLIENT
    const known = planRefusal(this.#parts.plan, request) ?? this.#replies.get(target)
    if (known !== null) return known
    const entry = this.#waiting.get(target) ?? this.#enqueue(target, request, running)
    if (entry === null) {
      const message = `the queue of fund requests at the leading bridge is full (${MOST_WAITING})`
      return refused(503, message, null, QUEUE_FULL_RETRY_MS)
    }
    entry.clients += 1
    const leave = (): void => {
      entry.clients -= 1
      if (entry.clients === 0) this.#remove(target, entry)
    }
    asked.addEventListener('abort', leave, { once: true })
    try {
      return await entry.reply
    } finally {
      asked.removeEventListener('abort', leave)
    }
  }

  /** A new entry at the end of the queue; null where the queue is full. */
  #enqueue(target: string, request: FundRequest, running: AbortSignal): Waiting | null {
    if (this.#waiting.size >= MOST_WAITING) return null
    const reply = this.#queue.then(() => this.#send(target, entry, running))
    const entry: Waiting = { request, reply, clients: 0, arrivedMs: this.#parts.clock.now() }
    this.#queue = reply.catch(() => undefined)
    this.#waiting.set(target, entry)
    const remove = (): void => this.#remove(target, entry)
    reply.then(remove, remove)
    return entry
  }

  #remove(target: string, entry: Waiting): void {
    if (this.#waiting.get(target) === entry) this.#waiting.delete(target)
  }

  /** Sends the request as soon as it may leave; gives up once no client waits for it. */
  async #send(target: string, entry: Waiting, running: AbortSignal): Promise<LeaderReply> {
    const { clock } = this.#parts
    const frontMs = clock.now()
    while (!running.aborted && entry.clients > 0) {
      const nowMs = clock.now()
      const kept = this.#replies.get(target)
      if (kept !== null) return kept
      if (this.#isLeading()) {
        const refusal = refusalAt(this.#parts, nowMs)
        if (refusal !== null) return refusal
        const reply = this.#mayLeave(nowMs) ? await this.#ask(target, entry, frontMs) : null
        if (reply !== null) return reply
      }
      await sleep(clock, CHECK_MS, running)
    }
    return NO_CLIENT
  }

  /** Null where this process lost the lead meanwhile. */
  async #ask(target: string, { request, arrivedMs }: Waiting, frontMs: number): Promise<LeaderReply | null> {
    const { poller, client, clock, logger } = this.#parts
    const outcome = await poller.proxy((call) => client.get(request, call))
    if (outcome === null) return null
    const reply = replyOf(outcome, poller.state.blockedUntilMs - clock.now())
    logger.info('fund_request.proxied', {
      path: target.split('?')[0],
      outcome: outcome.kind,
      status: reply.status,
      queuedMs: Math.max(0, frontMs - arrivedMs),
      waitMs: Math.max(0, outcome.startedMs - frontMs),
      durationMs: outcome.endedMs - outcome.startedMs,
    })
    this.#replies.keep(target, reply, clock.now())
    return reply
  }

  #isLeading(): boolean {
    const { poller } = this.#parts
    return poller.leaderSinceMs !== null && LEADING.includes(poller.state.name)
  }

  #mayLeave(nowMs: number): boolean {
    const { poller, plan, bucket } = this.#parts
    return (
      poller.state.upstream === 'ok' &&
      isIdle(poller.state, { nowMs, refillMs: refillOf(plan), keyless: false }) &&
      bucket.msUntilFull(nowMs) === 0
    )
  }
}
