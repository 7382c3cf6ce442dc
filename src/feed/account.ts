/**
 * What is counted and logged of one stream, on either transport: the gauge of open ones, events sent, latency, the
 * close code, and the one line that tells it all. Owns nothing else.
 */
import type { Caller } from '../http/auth.ts'
import type { Clock } from '../lifecycle/clock.ts'
import type { Logger } from '../obs/logger.ts'
import type { Metrics, StreamCloseCode, transports } from '../obs/metrics.ts'

/** The metrics that streams move. */
export type StreamMetrics = Pick<
  Metrics,
  'streamClients' | 'streamEventsSent' | 'streamSendLatency' | 'streamCloses' | 'streamSlowClients'
>

/** The books of one stream. */
export interface Account {
  /** For each write of events: how many, and when they became readable; null while catching up. */
  onSent(events: number, readableMs: number | null): void
  /** When a write meets a full socket, and when there is room again. */
  onSlow(slow: boolean): void
  /** Once, at the end. `caller` is null where nobody authenticated. */
  close(code: StreamCloseCode, caller: Pick<Caller, 'tenant' | 'tokenId'> | null): void
}

/** Opens the books: counts the stream as open from now on. */
export function openAccount(
  { clock, metrics, logger }: { clock: Clock; metrics: StreamMetrics; logger: Logger },
  transport: (typeof transports)[number],
): Account {
  const startedMs = clock.now()
  let sent = 0
  metrics.streamClients.add({ transport }, 1)
  return {
    onSent(events, readableMs) {
      sent += events
      metrics.streamEventsSent.add({ transport }, events)
      if (readableMs !== null) metrics.streamSendLatency.observe({}, (clock.now() - readableMs) / 1000)
    },
    onSlow: (slow) => metrics.streamSlowClients.add({}, slow ? 1 : -1),
    close(code, caller) {
      metrics.streamClients.add({ transport }, -1)
      metrics.streamCloses.add({ transport, code })
      const durationMs = clock.now() - startedMs
      const { tenant, tokenId } = caller ?? { tenant: null, tokenId: null }
      logger.info('stream.closed', { transport, code, sent, durationMs, tenant, tokenId })
    },
  }
}
