/**
 * Gives a test file the shared broker of the run, or what starts brokers of its own. Without Kafka its tests are
 * skipped, or fail under `REQUIRE_KAFKA=1`.
 */
import { inject } from 'vitest'
import { findRuntime } from './runtime/find-runtime.ts'
import type { KeeperAnswer } from './runtime/keeper.ts'
import type { KafkaRuntime } from './runtime/runtime.ts'

/**
 * The addresses (`host:port`, without encryption) of the run's broker, which is started by the first who asks; null
 * where the tests are to be skipped: `describe.skipIf(brokers === null)`. To be awaited at the top of a test file,
 * where no time limit of a hook cuts the first start on a machine short.
 * @throws Error with what to install when there is none and `REQUIRE_KAFKA=1`; or when it cannot be started
 */
export async function sharedBrokers(): Promise<readonly string[] | null> {
  const response = await fetch(inject('kafkaKeeper'))
  const answer = (await response.json()) as KeeperAnswer
  if ('failed' in answer) throw new Error(answer.failed)
  if ('missing' in answer) return skipped(answer.missing)
  return answer.brokers
}

/**
 * What starts a test's own brokers (`startCluster`), for tests that kill, encrypt or replicate; null where they are to
 * be skipped. A broker in `KAFKA_BROKERS` does not help them.
 * @throws Error with what to install when there is nothing and `REQUIRE_KAFKA=1`
 */
export async function kafkaRuntime(): Promise<KafkaRuntime | null> {
  const found = await findRuntime(process.env)
  return 'missing' in found ? skipped(found.missing) : found.runtime
}

function skipped(missing: string): null {
  if (process.env.REQUIRE_KAFKA === '1') throw new Error(`${missing} REQUIRE_KAFKA=1 asks for it.`)
  return null
}
