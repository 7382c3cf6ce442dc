/**
 * Records the metrics of one stream and writes its log line: open streams, events sent, latency, close code.
 */
import type { Caller } from '../../http/auth.ts'
import type { Clock } from '../../lifecycle/clock.ts'
import type { Logger } from '../../obs/logger.ts'
import type { Metrics, StreamCloseCode, transports } from '../../obs/metrics.ts'

/** The metrics of streams. */
export type StreamMetrics = Pick<
  Metrics,
  'streamClients' | 'streamEventsSent' | 'streamSendLatency' | 'streamCloses' | 'streamSlowClients'
>

/** The metrics and log line of one stream, which counts as open from its construction. */
export class StreamAccount {
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

  /** Records a write of events. `readableMs`: when they became readable; null while the stream catches up. */
  onSent(events: number, readableMs: number | null): void {
    const { clock, metrics } = this.#parts
    this.#sent += events
    metrics.streamEventsSent.add({ transport: this.#transport }, events)
    if (readableMs !== null) metrics.streamSendLatency.observe({}, (clock.now() - readableMs) / 1000)
  }

  /** Records that the client has become slow, or is no longer. */
  onSlow(isSlow: boolean): void {
    this.#parts.metrics.streamSlowClients.add({}, isSlow ? 1 : -1)
  }

  /** Records the end; call it once. `caller` is null if the client never authenticated. */
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
