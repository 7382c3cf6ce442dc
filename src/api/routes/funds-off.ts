/**
 * The fund paths of `/v2` while nothing passes them through: well-formed requests answer 503 and say so. Owns that answer
 * only; the gateway (`BRIDGE_GATEWAY_WEEKLY_UNITS`) takes its place.
 */
import { refusedAnswer } from '../mirror/answer.ts'
import type { FundSource } from '../mirror/fund-source.ts'

/** A source that has nothing and never will while this process runs, hence no Retry-After. */
export const fundsOff: FundSource = {
  answer: () =>
    refusedAnswer({
      status: 503,
      violation: 'unavailable',
      message: 'fund and investor-relations data are not passed through here: the gateway is off',
      hint:
        'The bridge keeps no copy of them. Ask the upstream service itself, or set BRIDGE_GATEWAY_WEEKLY_UNITS of the ' +
        'bridge to the share of the quota that they may spend.',
    }),
}
