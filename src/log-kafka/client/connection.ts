/**
 * The way of a reader that tails for ever to its brokers. Owns connecting again after faults, with pauses, and telling of
 * those that last. Refuses to know what is read.
 */
import type { Clock } from '../../lifecycle/clock.ts'
import { sleep } from '../../lifecycle/clock.ts'
import type { Logger } from '../../obs/logger.ts'
import type { KafkaSession, OpenSession } from './client.ts'
import { unavailable } from './faults.ts'
import { within } from './with-timeout.ts'

/** What a reader needs. */
export interface ReaderParts {
  openSession: OpenSession
  clock: Clock
  logger: Logger
  /** Told of every answer to a fetch: with nothing new, one comes each second. */
  onAnswer?: () => void
}

const FIRST_PAUSE_MS = 50
/** Low, because a broker that is back should be noticed within a second. */
const LONGEST_PAUSE_MS = 500
/** A new topic, or one whose leader moves, answers errors this long without being worth a line of the log, ms. */
const PASSING_MS = 1_000

/** A way to the brokers that is made again as often as it fails. */
export interface Connection {
  /** What the work gives, or null when it failed: the connection is made anew after a pause. */
  attempt<T>(topic: string, work: (session: KafkaSession) => Promise<T>): Promise<T | null>
  /** Told by work that goes on for long: it has had an answer, so what fails next is a new fault. */
  answered(topic: string): void
  /** Ends what is on its way; the next attempt connects anew. */
  renew(): void
  /** Ends it for good. Callable twice. */
  end(): void
}

/** A connection that is made when it is first used, and that ends for good when the signal aborts. */
export function createConnection(
  { openSession, clock, logger }: ReaderParts,
  signal: AbortSignal,
): Connection {
  let session: KafkaSession | null = null
  let pauseMs = FIRST_PAUSE_MS
  let failingSinceMs: number | null = null
  let told = false
  const end = (): void => {
    session?.end()
    session = null
  }
  const answered = (topic: string): void => {
    if (told) logger.info('log.reader_back', { topic })
    told = false
    failingSinceMs = null
    pauseMs = FIRST_PAUSE_MS
  }
  signal.addEventListener('abort', end, { once: true })
  return {
    answered,
    async attempt(topic, work) {
      try {
        session ??= openSession()
        const result = await within(clock, null, signal, work(session))
        answered(topic)
        return result
      } catch (error) {
        end()
        if (signal.aborted) return null
        failingSinceMs ??= clock.now()
        if (!told && clock.now() - failingSinceMs >= PASSING_MS) {
          told = true
          logger.warn('log.reader_away', { topic, error: unavailable('reading', error) })
        }
        await sleep(clock, pauseMs, signal)
        pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)
        return null
      }
    },
    renew: end,
    end() {
      signal.removeEventListener('abort', end)
      end()
    },
  }
}
