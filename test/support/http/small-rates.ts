/** Rates that are spent after twenty requests or some more, on a clock that stands still. */
import { clientAddress } from '../../../src/http/bounds/remote-address.ts'
import { RateLimits } from '../../../src/http/rate-limits.ts'
import { createManualClock } from '../time/manual-clock.ts'

/** So many requests a second of each token and each address; none where it is left out. */
export function smallRates({
  perToken = null,
  perAddress = null,
}: {
  perToken?: number | null
  perAddress?: number | null
}): RateLimits {
  return new RateLimits({
    ...{ perToken, perAddress },
    addressOf: (request) => clientAddress(request, []),
    clock: createManualClock(),
    onRefused: () => undefined,
  })
}
