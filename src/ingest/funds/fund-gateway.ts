/**
 * The leader's side of the fund gateway: answers fund requests of every node, from upstream where nothing valid is at hand.
 * Owns the share of the quota that they may take, their queue (one request on its way, equal ones join) and that polls
 * come first. Refuses to count and to judge 429s: the poller's writer and judge do.
 */
import { isoMillis } from '../../core/dates.ts'
import { planIncludes } from '../../core/plans.ts'
import { type Quota, quotaAt } from '../../governor/quota/ledger.ts'
import type { TokenBucket } from '../../governor/quota/token-bucket.ts'
import { type Clock, sleep } from '../../lifecycle/clock.ts'
import type { Questions } from '../../log/log.ts'
import type { Logger } from '../../obs/logger.ts'
import type { UpstreamPlan } from '../../settings/settings.ts'
import type { FundClient } from '../../upstream/fund-client.ts'
import { encodeReply, type FundReply } from '../../upstream/fund-reply.ts'
import { fundTarget, pageSizeOf } from '../../upstream/fund-target.ts'
import { createKeptReplies } from '../../upstream/kept-replies.ts'
import { isCalm, refillOf } from '../poller/idle-throttle.ts'
import type { Poller } from '../poller/poller.ts'
import { refused, replyOf } from './fund-replies.ts'

/** What the gateway is built from. */
export interface GatewayParts {
  poller: Pick<Poller, 'state' | 'leaderSinceMs' | 'pass'>
  client: FundClient
  /** The bucket that the poller takes from too. */
  bucket: TokenBucket
  plan: UpstreamPlan
  /** Units a week that may be spent here. */
  weeklyUnits: number
  questions: Pick<Questions, 'serve'>
  clock: Clock
  logger: Logger
}

/** How often a request that waits looks whether it may leave. */
const LOOK_MS = 25
/** Requests that wait; one more is told to come back. */
const MOST_WAITING = 100
/** Whoever asks waits for 10 s: what is blocked for longer is told so at once. */
const LONGEST_WAIT_MS = 10_000
/** When to come back to a full queue. */
const QUEUE_MS = 5_000
const LEADING = ['polling', 'filling', 'sweeping', 'backfilling']

/** A request of one target, and how many wait for its reply. */
interface Waiting {
  reply: Promise<FundReply>
  askers: number
}

/** The gateway of a process that may lead; `run` rejects only for faults of ours. */
export function createGateway(parts: GatewayParts): { run(signal: AbortSignal): Promise<void> } {
  const { poller, plan, clock } = parts
  const replies = createKeptReplies(clock)
  const waiting = new Map<string, Waiting>()
  const refillMs = refillOf(plan)
  let line: Promise<unknown> = Promise.resolve()

  const leads = (): boolean => poller.leaderSinceMs !== null && LEADING.includes(poller.state.name)
  const mayLeave = (nowMs: number): boolean =>
    poller.state.upstream === 'ok' &&
    isCalm(poller.state, { nowMs, refillMs, keyless: false }) &&
    parts.bucket.msUntilFull(nowMs) === 0

  /** Sends when it may; without anybody who waits, nothing. */
  const send = async (target: string, entry: Waiting, signal: AbortSignal): Promise<FundReply> => {
    const queuedMs = clock.now()
    while (!signal.aborted && entry.askers > 0) {
      const nowMs = clock.now()
      const kept = replies.get(target)
      if (kept !== null) return kept
      if (leads()) {
        const refusal = refusalAt(parts, nowMs)
        if (refusal !== null) return refusal
        if (mayLeave(nowMs)) {
          const outcome = await poller.pass((call) => parts.client.get(target, call))
          if (outcome !== null) {
            const reply = replyOf(outcome, poller.state.blockedUntilMs - clock.now())
            const fields = { path: target.split('?')[0], outcome: outcome.kind, status: reply.status }
            const waitMs = Math.max(0, outcome.startedMs - queuedMs)
            const durationMs = outcome.endedMs - outcome.startedMs
            parts.logger.info('gateway.answered', { ...fields, waitMs, durationMs })
            replies.keep(target, reply, clock.now())
            return reply
          }
        }
      }
      await sleep(clock, LOOK_MS, signal)
    }
    return refused(503, 'nobody waits for it', null, null)
  }

  const forget = (target: string, entry: Waiting): void => {
    if (waiting.get(target) === entry) waiting.delete(target)
  }

  const replyTo = async (target: string, asked: AbortSignal, running: AbortSignal): Promise<FundReply> => {
    while (!leads() && !asked.aborted) await sleep(clock, LOOK_MS, asked)
    if (asked.aborted) return refused(503, 'nobody waits for it', null, null)
    const wrong = refusalOf(plan, target)
    if (wrong !== null) return wrong
    const kept = replies.get(target)
    if (kept !== null) return kept
    let entry = waiting.get(target)
    if (entry === undefined) {
      if (waiting.size >= MOST_WAITING) {
        return refused(503, `${MOST_WAITING} fund requests wait at the leading bridge`, null, QUEUE_MS)
      }
      const made: Waiting = { reply: line.then(() => send(target, made, running)), askers: 0 }
      line = made.reply.catch(() => undefined)
      waiting.set(target, made)
      const over = (): void => forget(target, made)
      made.reply.then(over, over)
      entry = made
    }
    const { reply } = entry
    entry.askers += 1
    const leave = (): void => {
      entry.askers -= 1
      if (entry.askers === 0) forget(target, entry)
    }
    asked.addEventListener('abort', leave, { once: true })
    try {
      return await reply
    } finally {
      asked.removeEventListener('abort', leave)
    }
  }

  return {
    run: (signal) =>
      parts.questions.serve(async (question, asked) => {
        const target = fundTarget(question)
        if (target === null) return encodeReply(refused(400, 'this is no fund request', null, null))
        return encodeReply(await replyTo(target, asked, signal))
      }, signal),
  }
}

/** Why this request is never sent; null where it may be. */
function refusalOf(plan: UpstreamPlan, target: string): FundReply | null {
  const pageSize = pageSizeOf(target)
  if (pageSize === null || pageSize <= plan.pageSize) return null
  return refused(
    400,
    `pageSize ${pageSize} is above the ceiling of the upstream's plan, which is ${plan.pageSize}`,
    `Send pageSize=${plan.pageSize} or less.`,
    null,
  )
}

/** Why nothing is sent at this moment; null where it is only a matter of its turn. */
function refusalAt({ plan, poller, weeklyUnits }: GatewayParts, nowMs: number): FundReply | null {
  const { ledger, upstream, blockedUntilMs } = poller.state
  const { weeklyQuota, quotaReset } = plan
  if (!planIncludes(plan.name, 'advanced')) {
    return refused(
      503,
      `the upstream's plan "${plan.name}" has no fund data`,
      'It comes with "advanced"; if the key has it, BRIDGE_UPSTREAM_PLAN of the bridge is wrong.',
      null,
    )
  }
  const share = quotaAt(ledger, weeklyUnits, quotaReset, nowMs, ['gateway'])
  if (share.remaining === 0) return spent('the share of fund requests', share, nowMs)
  const whole = quotaAt(ledger, weeklyQuota, quotaReset, nowMs)
  if (whole.remaining === 0) return spent('the upstream quota', whole, nowMs)
  const waitMs = Math.max(0, blockedUntilMs - nowMs)
  if (upstream === 'quota') return refused(503, 'upstream says that the quota is spent', null, waitMs)
  if (upstream === 'unauthorised') {
    const hint = 'Tell whoever runs this bridge: BRIDGE_UPSTREAM_KEY is wrong or revoked.'
    return refused(502, 'upstream refuses the key of this bridge', hint, waitMs)
  }
  if (upstream === 'failing') return refused(503, 'upstream fails at the moment', null, waitMs)
  return waitMs > LONGEST_WAIT_MS ? refused(503, 'upstream throttles at the moment', null, waitMs) : null
}

function spent(what: string, { limit, used, resetMs }: Quota, nowMs: number): FundReply {
  const hint = `Units come back from ${isoMillis(resetMs)} on. BRIDGE_GATEWAY_WEEKLY_UNITS is the share of fund requests.`
  return refused(429, `${what} is used up: ${used} of ${limit} units this week`, hint, resetMs - nowMs)
}
