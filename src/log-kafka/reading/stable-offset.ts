/**
 * Waits, at most 2 s, until a topic's last stable offset reaches its end: until no record is in an open or hanging
 * transaction. A hanging transaction has ended, but its commit or abort marker is missing.
 */
import type { Clock } from '../../lifecycle/clock.ts'
import { sleep } from '../../lifecycle/clock.ts'
import type { KafkaSession, OpenSession } from '../client/client.ts'
import type { PartitionClient } from '../client/kafkajs-internals.ts'

/** A commit is answered some ms before its markers are written; the transaction of a crashed writer stays open for 10 s. */
const LIMIT_MS = 2_000
const POLL_MS = 5

/** Resolves when every record that is in the topic now is committed or aborted, or after 2 s. */
export async function waitForStableOffset(
  partitions: PartitionClient,
  topic: string,
  clock: Clock,
): Promise<void> {
  const { end } = await partitions.offsets(topic)
  const untilMs = clock.now() + LIMIT_MS
  while (clock.now() < untilMs) {
    const { lastStable } = await partitions.offsets(topic)
    if (lastStable >= end) return
    await sleep(clock, POLL_MS)
  }
}

/** Checks topics before a transaction writes to them, on a session of its own that is replaced after each fault. */
export class StableOffsetWatch {
  readonly #openSession: OpenSession
  readonly #clock: Clock
  #session: KafkaSession | null = null
  #isEnded = false

  constructor(openSession: OpenSession, clock: Clock) {
    this.#openSession = openSession
    this.#clock = clock
  }

  /**
   * Resolves when every record of the topics is committed or aborted.
   * @throws Error when one is not within 2 s, or the brokers do not answer
   */
  async waitForStable(topics: readonly string[]): Promise<void> {
    const untilMs = this.#clock.now() + LIMIT_MS
    for (let fault = await this.#check(topics); fault !== null; fault = await this.#check(topics)) {
      if (this.#isEnded || this.#clock.now() >= untilMs) throw fault
      await sleep(this.#clock, POLL_MS)
    }
  }

  /** Ends its connections. Callable twice. */
  end(): void {
    this.#isEnded = true
    this.#disconnect()
  }

  async #check(topics: readonly string[]): Promise<Error | null> {
    try {
      this.#session ??= this.#openSession()
      const [first] = await this.#session.partitions.unstable(topics)
      if (first === undefined) return null
      return new Error(`${first.topic} has records of an unfinished transaction from offset ${first.from} on`)
    } catch (error) {
      this.#disconnect()
      return error as Error
    }
  }

  #disconnect(): void {
    this.#session?.end()
    this.#session = null
  }
}
