/**
 * The wait for what is written and neither committed nor aborted yet. Owns how long, and asking again where a leader
 * moves. Refuses to decide it: a claim does.
 */
import type { Clock } from '../../lifecycle/clock.ts'
import { sleep } from '../../lifecycle/clock.ts'
import type { KafkaSession, OpenSession } from '../client/client.ts'
import type { PartitionClient } from '../client/kafkajs-internals.ts'

/** A commit is answered some ms before its markers are written; a dead writer's transaction may stay open for 10 s. */
const UNDECIDED_MS = 2_000
const POLL_MS = 5

/** Resolves when everything that is in the topic now is decided, or after 2 s. */
export async function untilDecided(partitions: PartitionClient, topic: string, clock: Clock): Promise<void> {
  const { end } = await partitions.offsets(topic)
  const untilMs = clock.now() + UNDECIDED_MS
  while (clock.now() < untilMs) {
    const { lastStable } = await partitions.offsets(topic)
    if (lastStable >= end) return
    await sleep(clock, POLL_MS)
  }
}

/** Looks at topics before a transaction begins on them. */
export interface DecidedWatch {
  /**
   * Resolves when everything that is in the topics is decided.
   * @throws Error when it is not within 2 s, or the brokers do not say
   */
  untilDecided(topics: readonly string[]): Promise<void>
  /** Ends its connections. Callable twice. */
  end(): void
}

/** A watch with a session of its own, made anew after each fault. */
export function createDecidedWatch(openSession: OpenSession, clock: Clock): DecidedWatch {
  let session: KafkaSession | null = null
  let ended = false
  const end = (): void => {
    session?.end()
    session = null
  }
  const look = async (topics: readonly string[]): Promise<Error | null> => {
    try {
      session ??= openSession()
      const [first] = await session.partitions.undecided(topics)
      return first === undefined
        ? null
        : new Error(`what ${first.topic} has from ${first.from} on is not decided`)
    } catch (error) {
      end()
      return error as Error
    }
  }
  return {
    async untilDecided(topics) {
      const untilMs = clock.now() + UNDECIDED_MS
      for (let found = await look(topics); found !== null; found = await look(topics)) {
        if (ended || clock.now() >= untilMs) throw found
        await sleep(clock, POLL_MS)
      }
    },
    end() {
      ended = true
      end()
    },
  }
}
