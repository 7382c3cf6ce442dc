/**
 * Answers the fund paths of `/v2` through the leader, the one node that sends requests upstream, and caches replies
 * while they are valid. Concurrent equal requests of this node share one request to the leader. While the operator has
 * this gateway switched off, the paths answer 503.
 */
import { isBridgeError } from '../../errors.ts'
import type { Clock } from '../../lifecycle/clock.ts'
import type { Requests } from '../../log/requests.ts'
import { decodeReply, type FundReply } from '../../upstream/fund-reply.ts'
import { fundTarget } from '../../upstream/fund-target.ts'
import { createKeptReplies } from '../../upstream/kept-replies.ts'
import type { FundSource } from '../mirror/fund-routes.ts'
import { MirrorRefusal } from '../mirror/refusal.ts'

/**
 * The source without data, while the gateway (`BRIDGE_GATEWAY_WEEKLY_UNITS`) is off. It sends no Retry-After, because only a
 * restart with other settings changes that.
 */
export const fundsOff: FundSource = {
  answer() {
    throw new MirrorRefusal(
      503,
      'unavailable',
      'fund and investor-relations data are not passed through here: the gateway is off',
      'The bridge keeps no copy of them. Ask the upstream service itself, or set BRIDGE_GATEWAY_WEEKLY_UNITS of the ' +
        'bridge to the share of the quota that they may spend.',
    )
  },
}

/** What the gateway of a node needs. */
export interface FundGatewayParts {
  requests: Pick<Requests, 'send'>
  clock: Clock
}

/** Longest wait for the leader. */
const PATIENCE_MS = 10_000
/** Maximum of concurrent requests of this node to the leader. */
const MOST_ASKED = 100
/** Default `Retry-After`. */
const AGAIN_MS = 5_000

/** Further refusals of the leader (`ingest/funds/fund-replies.ts`). */
const refusals = {
  429: 'The share of fund requests, or the whole upstream quota, is used up; `Retry-After` says when units come back.',
  502: "Upstream failed, could not be read, or refuses the bridge's own key; `Retry-After` says when to ask again, where that is of use.",
  504: 'Upstream did not answer in time; `Retry-After` says when to ask again.',
}

/** Creates a source that sends requests to the leader. */
export function createFundGateway({ requests, clock }: FundGatewayParts): FundSource {
  const replies = createKeptReplies(clock)
  const asked = new Map<string, Promise<FundReply>>()

  const ask = async (target: string): Promise<FundReply> => {
    const askedMs = clock.now()
    const late = new AbortController()
    const cancel = clock.after(PATIENCE_MS, () => late.abort())
    try {
      const reply = decodeReply(await requests.send(target, late.signal))
      if (reply === null) return notNow('the leader runs another version of the bridge', 'Update every node.')
      replies.keep(target, reply, askedMs)
      return reply
    } catch (error) {
      if (late.signal.aborted) {
        return notNow(
          'no answer of the leading bridge within 10 s',
          'None leads at the moment, or its polls and earlier requests come first. Come back after Retry-After.',
        )
      }
      if (!isBridgeError(error, 'log_unavailable')) throw error
      return notNow('the leading bridge cannot be asked: Kafka does not answer', null)
    } finally {
      cancel()
      asked.delete(target)
    }
  }
  const replyTo = (target: string): Promise<FundReply> | FundReply => {
    const known = replies.get(target) ?? asked.get(target)
    if (known !== undefined) return known
    if (asked.size >= MOST_ASKED) return notNow(`${MOST_ASKED} fund requests wait already`, null)
    const asking = ask(target)
    asked.set(target, asking)
    return asking
  }
  return {
    refusals,
    async answer(_query, sent) {
      const target = fundTarget(sent)
      if (target === null) throw new Error(`${sent} was taken for a fund request`)
      return bodyOf(await replyTo(target))
    },
  }
}

function notNow(message: string, hint: string | null): FundReply {
  return { status: 503, text: '', refusal: { message, hint }, retryAfterMs: AGAIN_MS, validMs: 0 }
}

/** @throws MirrorRefusal where the reply is one */
function bodyOf({ status, text, refusal, retryAfterMs }: FundReply): string {
  if (refusal === null) return text
  const seconds = retryAfterMs === null ? null : Math.max(1, Math.ceil(retryAfterMs / 1000))
  throw new MirrorRefusal(status, 'unavailable', refusal.message, refusal.hint, seconds)
}
