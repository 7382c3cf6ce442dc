/**
 * What is counted and logged of one stream, on either transport: the gauge of open ones, events sent, latency, the
 * close code, and the one line that tells it all. Owns nothing else.
 */
import type { Caller } from '../../http/auth.ts'
import type { Clock } from '../../lifecycle/clock.ts'
import type { Logger } from '../../obs/logger.ts'
import type { Metrics, StreamCloseCode, transports } from '../../obs/metrics.ts'

/** The metrics that streams move. */
export type StreamMetrics = Pick<
  Metrics,
  'streamClients' | 'streamEventsSent' | 'streamSendLatency' | 'streamCloses' | 'streamSlowClients'
>

/** The books of one stream, which counts as open from now on. */
export class Account {
  readonly #parts: { clock: Clock; metrics: StreamMetrics; logger: Logger }
  readonly #transport: (typeof transports)[number]
  readonly #startedMs: number
  #sent = 0

  constructor(
    parts: { clock: Clock; metrics: StreamMetrics; logger: Logger },
    transport: (typeof transports)[number],
  ) {
    this.#parts = parts
    this.#transport = transport
    this.#startedMs = parts.clock.now()
    parts.metrics.streamClients.add({ transport }, 1)
  }

  /** For each write of events: how many, and when they became readable; null while catching up. */
  onSent(events: number, readableMs: number | null): void {
    const { clock, metrics } = this.#parts
    this.#sent += events
    metrics.streamEventsSent.add({ transport: this.#transport }, events)
    if (readableMs !== null) metrics.streamSendLatency.observe({}, (clock.now() - readableMs) / 1000)
  }

  /** When a write meets a full socket, and when there is room again. */
  onSlow(slow: boolean): void {
    this.#parts.metrics.streamSlowClients.add({}, slow ? 1 : -1)
  }

  /** Once, at the end. `caller` is null where nobody authenticated. */
  close(code: StreamCloseCode, caller: Pick<Caller, 'tenant' | 'tokenId'> | null): void {
    const { clock, metrics, logger } = this.#parts
    const transport = this.#transport
    metrics.streamClients.add({ transport }, -1)
    metrics.streamCloses.add({ transport, code })
    const durationMs = clock.now() - this.#startedMs
    const { tenant, tokenId } = caller ?? { tenant: null, tokenId: null }
    logger.info('stream.closed', { transport, code, sent: this.#sent, durationMs, tenant, tokenId })
  }
}
