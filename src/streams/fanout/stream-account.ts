/**
 * Records the metrics of one stream and writes its log line: open streams, events sent, latency, close code. The list of
 * open streams shows what is recorded.
 */
import type { Caller } from '../../http/auth.ts'
import type { Clock } from '../../lifecycle/clock.ts'
import type { Logger } from '../../obs/logger.ts'
import type { Metrics, StreamCloseCode, transports } from '../../obs/metrics.ts'

/** The metrics of streams. */
export type StreamMetrics = Pick<
  Metrics,
  | 'streamClients'
  | 'streamEventsSent'
  | 'streamSendLatency'
  | 'streamCloses'
  | 'streamSlowClients'
  | 'httpUnauthorised'
>

/** The metrics and log line of one stream, which counts as open from its construction. */
export class StreamAccount {
  readonly #parts: { clock: Clock; metrics: StreamMetrics; logger: Logger }
  readonly transport: (typeof transports)[number]
  /** The client's address as connections are counted by; empty where it cannot be read. */
  readonly remote: string
  /** When it was opened, ms since 1970. */
  readonly openedMs: number
  #slowSinceMs: number | null = null
  #sent = 0

  constructor(
    parts: { clock: Clock; metrics: StreamMetrics; logger: Logger },
    transport: (typeof transports)[number],
    remote: string,
  ) {
    this.#parts = parts
    this.transport = transport
    this.remote = remote
    this.openedMs = parts.clock.now()
    parts.metrics.streamClients.add({ transport }, 1)
  }

  /** Events that were written to it. */
  get sent(): number {
    return this.#sent
  }

  /** Since when its client has not taken what was written, ms since 1970; null while it has. */
  get slowSinceMs(): number | null {
    return this.#slowSinceMs
  }

  /** Records a write of events. `committedMs`: when the log stored the first; null while the stream catches up. */
  onSent(events: number, committedMs: number | null): void {
    const { clock, metrics } = this.#parts
    this.#sent += events
    metrics.streamEventsSent.add({ transport: this.transport }, events)
    // Of Kafka it is the broker's clock, which may be ahead of ours.
    if (committedMs !== null)
      metrics.streamSendLatency.observe({}, Math.max(0, clock.now() - committedMs) / 1000)
  }

  /** Records that the client has become slow, or is no longer. */
  onSlow(isSlow: boolean): void {
    const { clock, metrics } = this.#parts
    this.#slowSinceMs = isSlow ? clock.now() : null
    metrics.streamSlowClients.add({}, isSlow ? 1 : -1)
  }

  /** Records the end; call it once. `caller` is null if the client never authenticated. */
  close(code: StreamCloseCode, caller: Pick<Caller, 'tenant' | 'tokenId'> | null): void {
    const { clock, metrics, logger } = this.#parts
    const { transport } = this
    metrics.streamClients.add({ transport }, -1)
    metrics.streamCloses.add({ transport, code })
    const durationMs = clock.now() - this.openedMs
    const { tenant, tokenId } = caller ?? { tenant: null, tokenId: null }
    logger.info('stream.closed', { transport, code, sent: this.#sent, durationMs, tenant, tokenId })
  }
}
