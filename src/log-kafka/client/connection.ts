/** Keeps the broker connection of a reader that tails a topic: reconnects after failures, with pauses, and logs lasting ones. */
import type { Clock } from '../../lifecycle/clock.ts'
import { sleep } from '../../lifecycle/clock.ts'
import type { Logger } from '../../obs/logger.ts'
import type { KafkaSession, OpenSession } from './client.ts'
import { unavailable } from './faults.ts'
import { abortable } from './with-timeout.ts'

/** What a reader needs. */
export interface ReaderParts {
  openSession: OpenSession
  clock: Clock
  logger: Logger
  /** Called for every fetch response: with nothing new, one comes each second. */
  onResponse?: () => void
}

/** What the parts of an open log share. */
export interface LogParts extends ReaderParts {
  /** Throws once the log is closed; then `closed` is aborted. */
  open(): void
  closed: AbortSignal
}

/** As `LogParts`, for a topic that is created at its first use. */
export interface OwnTopicParts extends LogParts {
  /** Resolves when the topic exists. Rejects with the signal's reason when it aborts first. */
  ready(signal: AbortSignal): Promise<void>
}

/** As `OwnTopicParts`, for a topic that can be made again where it was deleted. */
export interface RemadeTopicParts extends OwnTopicParts {
  /** Creates the topic again where it was deleted. Throws as `ensureTopics`. */
  remake(): Promise<void>
}

const FIRST_PAUSE_MS = 50
/** Low, so that a recovered broker is noticed within a second. */
const LONGEST_PAUSE_MS = 500
/** A new topic, or one whose leader moves, answers errors for about this long; shorter failures are not logged, ms. */
const UNLOGGED_MS = 1_000

/** A connection to the brokers, opened at the first attempt and again after each failure, until the signal aborts. */
export class ReaderConnection {
  readonly #parts: ReaderParts
  readonly #signal: AbortSignal
  #session: KafkaSession | null = null
  #pauseMs = FIRST_PAUSE_MS
  #failingSinceMs: number | null = null
  #isLogged = false

  constructor(parts: ReaderParts, signal: AbortSignal) {
    this.#parts = parts
    this.#signal = signal
    signal.addEventListener('abort', this.renew, { once: true })
  }

  /** The result of the work, or null when it failed: then a pause has passed, and the next attempt reconnects. */
  async attempt<T>(topic: string, work: (session: KafkaSession) => Promise<T>): Promise<T | null> {
    const { openSession, clock, logger } = this.#parts
    try {
      this.#session ??= openSession()
      const result = await abortable(this.#signal, work(this.#session))
      this.succeeded(topic)
      return result
    } catch (error) {
      this.renew()
      if (this.#signal.aborted) return null
      this.#failingSinceMs ??= clock.now()
      if (!this.#isLogged && clock.now() - this.#failingSinceMs >= UNLOGGED_MS) {
        this.#isLogged = true
        logger.warn('log.reader_unavailable', { topic, error: unavailable('reading', error) })
      }
      await sleep(clock, this.#pauseMs, this.#signal)
      this.#pauseMs = Math.min(this.#pauseMs * 2, LONGEST_PAUSE_MS)
      return null
    }
  }

  /** Ends the current failure, for long-running work that has received a response. */
  succeeded(topic: string): void {
    if (this.#isLogged) this.#parts.logger.info('log.reader_recovered', { topic })
    this.#isLogged = false
    this.#failingSinceMs = null
    this.#pauseMs = FIRST_PAUSE_MS
  }

  /** Ends requests in flight; the next attempt reconnects. */
  readonly renew = (): void => {
    this.#session?.end()
    this.#session = null
  }

  /** Ends it for good. Callable twice. */
  end(): void {
    this.#signal.removeEventListener('abort', this.renew)
    this.renew()
  }
}
