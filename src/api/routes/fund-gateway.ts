/**
 * Answers the fund paths of `/v2` through the leader, and caches its replies while they are valid. While the operator has
 * this gateway switched off, the paths answer 503.
 */
import { HttpProblem } from '../../http/problem.ts'
import { LONGEST_REQUEST } from '../../log/requests.ts'
import { fundTarget, readFundTarget } from '../../upstream/fund-target.ts'
import { createKeptReplies } from '../../upstream/kept-replies.ts'
import type { LeaderReply } from '../../upstream/leader-reply.ts'
import type { FundSource } from '../mirror/fund-routes.ts'
import { MirrorRefusal } from '../mirror/refusal.ts'
import { createLeaderClient, type LeaderClientParts, refusalOf } from './leader-client.ts'

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

/** Further refusals of the leader (`ingest/funds/fund-replies.ts`). */
const refusals = {
  429: 'The share of fund requests, or the whole upstream quota, is used up; `Retry-After` says when units come back.',
  502: "Upstream failed, could not be read, or refuses the bridge's own key; `Retry-After` says when to ask again, where that is of use.",
  504: 'Upstream did not answer in time; `Retry-After` says when to ask again.',
}

/** Creates a source that sends requests to the leader. */
export function createFundGateway(parts: LeaderClientParts): FundSource {
  const { clock } = parts
  const askLeader = createLeaderClient(parts)
  const replies = createKeptReplies(clock)
  return {
    refusals,
    async answer(_query, sent) {
      const request = readFundTarget(sent)
      if (request === null) throw new Error(`${sent} was taken for a fund request`)
      const target = fundTarget(request)
      if (target.length > LONGEST_REQUEST) {
        throw new HttpProblem('url_too_long', 'the list of ISINs is too long')
      }
      const known = replies.get(target)
      if (known !== null) return bodyOf(known)
      const askedMs = clock.now()
      const reply = await askLeader(target)
      if (replies.get(target) === null) replies.keep(target, reply, askedMs)
      return bodyOf(reply)
    },
  }
}

/** @throws MirrorRefusal where the reply is one */
function bodyOf(reply: LeaderReply): string {
  if (reply.refusal === null) return reply.text
  throw refusalOf(reply)
}
