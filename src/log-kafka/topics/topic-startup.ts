/** Creates the topics in the background when a log is opened, and retries while Kafka is unavailable. */
import { messageOf } from '../../errors.ts'
import { sleep } from '../../lifecycle/clock.ts'
import type { LogParts } from '../client/connection.ts'
import { nonRetriable, unavailable } from '../client/faults.ts'
import { abortable } from '../client/with-timeout.ts'
import {
  type EnsuredTopics,
  ensureTopics,
  missingTopics,
  SAFE_REPLICAS,
  type TopicSettings,
} from './topic-setup.ts'
import { onePartition, type TopicPlan, topicName } from './topics.ts'

/** Low, so that a recovered Kafka is noticed soon, ms. */
const RETRY_MS = 1_000

/** What the creation of topics needs. */
export interface StartupParts extends LogParts {
  settings: TopicSettings
  /** How many addresses of brokers the settings name. */
  named: number
}

/** The topics of one log: those that exist from the start, and those that are created at first use. */
export class TopicStartup {
  readonly #parts: StartupParts
  #waitingFor: string | null = 'Kafka has not answered yet'
  /** Resolves when the first topics exist. Rejects with `kafka` when retrying cannot help. */
  readonly done: Promise<void>

  constructor(parts: StartupParts, topics: readonly string[]) {
    this.#parts = parts
    this.done = this.#start(topics)
    // Every call that needs a topic rejects with it.
    this.done.catch(() => undefined)
  }

  /** Why the first topics do not exist yet; null once they do. */
  get waitingFor(): string | null {
    return this.#waitingFor
  }

  /** Resolves when the first topics exist. Rejects with the signal's reason when it aborts first. */
  ready(signal: AbortSignal): Promise<void> {
    return abortable(signal, this.done)
  }

  /** As `ready`, for a topic that is created at the first call. */
  readyWith(plan: TopicPlan): (signal: AbortSignal) => Promise<void> {
    let creating: Promise<void> | null = null
    return (signal) => {
      creating ??= this.done.then(async () => void (await this.#createWithRetry([plan])))
      creating.catch(() => undefined)
      return abortable(signal, creating)
    }
  }

  /** Creates missing topics of one partition, without a retry. Throws as `ensureTopics`. */
  async create(topics: readonly string[]): Promise<readonly string[]> {
    return (await this.#ensure(topics.map(onePartition))).created
  }

  /** As `readyWith`, and what makes the topic again where it was deleted. */
  makerOf(plan: TopicPlan): { ready(signal: AbortSignal): Promise<void>; remake(): Promise<void> } {
    return { ready: this.readyWith(plan), remake: () => this.#createAgain([plan]) }
  }

  /** As `create`, of topics that existed once: logs each one that was missing. */
  createAgain(topics: readonly string[]): Promise<void> {
    return this.#createAgain(topics.map(onePartition))
  }

  async #createAgain(plans: readonly TopicPlan[]): Promise<void> {
    const { logger, settings } = this.#parts
    for (const topic of (await this.#ensure(plans)).created) {
      logger.warn('topic.created_again', { topic: topicName(settings.prefix, topic) })
    }
  }

  /** Those of these topics that do not exist. Throws as `missingTopics`. */
  missing(topics: readonly string[]): Promise<readonly string[]> {
    return missingTopics(this.#parts, topics, this.#parts.closed)
  }

  #ensure(topics: readonly TopicPlan[]): Promise<EnsuredTopics> {
    return ensureTopics(this.#parts, topics, this.#parts.closed)
  }

  async #start(topics: readonly string[]): Promise<void> {
    const replicas = await this.#createWithRetry(topics.map(onePartition))
    if (replicas === null) return
    if (replicas < SAFE_REPLICAS) {
      this.#parts.logger.warn('log.low_replication', { warning: lowReplicationWarning(replicas) })
    }
    this.#waitingFor = null
  }

  /** The fewest replicas of one of the topics, or null when the log was closed before they exist. */
  async #createWithRetry(topics: readonly TopicPlan[]): Promise<number | null> {
    const { clock, logger, closed } = this.#parts
    let loggedHint: string | null = null
    while (!closed.aborted) {
      try {
        const { replicas } = await this.#ensure(topics)
        if (loggedHint !== null) logger.info('log.available')
        return replicas
      } catch (error) {
        if (closed.aborted) return null
        if (this.#waitingFor !== null) this.#waitingFor = messageOf(error)
        const fatal = nonRetriable(error)
        if (fatal !== null) throw fatal
        // The message may name another broker each time; the hint changes only with the cause.
        const { hint = '' } = unavailable('creating topics', error)
        if (hint !== loggedHint) logger.warn('log.unavailable', { error })
        loggedHint = hint
        await sleep(clock, RETRY_MS, closed)
      }
    }
    return null
  }
}

function lowReplicationWarning(count: number): string {
  return `topics have ${count === 1 ? 'one replica' : `${count} replicas`}: the loss of a broker can lose committed records. Use three brokers; BRIDGE_TOPIC_REPLICATION sets the replication of new topics, existing ones keep theirs`
}
