/**
 * Answers 503 to well-formed requests for the fund paths of `/v2` while the gateway (`BRIDGE_GATEWAY_WEEKLY_UNITS`) is off.
 */
import { refusedAnswer } from '../mirror/answer.ts'
import type { FundSource } from '../mirror/fund-source.ts'

/** The source without data. It sends no Retry-After, because only a restart with other settings changes that. */
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
