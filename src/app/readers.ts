/**
 * Builds what all readers of the public listener share: places for streams and pulls, memory for their answers, and the
 * rates of requests.
 */
import { parseNet } from '../core/ip.ts'
import { createReaderLimits } from '../http/bounds/reader-limits.ts'
import { createAddressReader } from '../http/bounds/remote-address.ts'
import { RateLimits } from '../http/rate-limits.ts'
import type { StartContext } from './context.ts'

/** The limits and rates of this process. */
export type Readers = ReturnType<typeof buildReaders>

/** With every place free. */
export function buildReaders({ settings, files, clock, metrics }: StartContext) {
  const trustedProxies = settings.trustedProxies.map(parseNet)
  const addressOf = createAddressReader(trustedProxies)
  const onRefused = (cause: Parameters<typeof metrics.httpRefused.add>[0]['cause']): void =>
    metrics.httpRefused.add({ cause })
  const limits = createReaderLimits({
    maxClients: files.streams,
    clientOf: addressOf,
  })
  return {
    trustedProxies,
    addressOf,
    onRefused,
    limits: { ...limits, onRefused },
    rates: new RateLimits({ ...settings.requestRates, addressOf, clock, onRefused }),
  }
}
