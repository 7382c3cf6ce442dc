/**
 * Starts one broker for a whole test run when the first test file needs it. Runs in vitest's main process
 * (`globalSetup`), so that the broker outlives the workers, and answers its address over HTTP.
 */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestProject } from 'vitest/node'
import { type KafkaCluster, startCluster } from '../cluster.ts'
import { untilNamed } from '../metadata.ts'
import { findRuntime } from './find-runtime.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    /** Where the keeper answers. */
    kafkaKeeper: string
  }
}

/** What the keeper answers: where the broker is, that there is none and why, or what went wrong. */
export type KeeperAnswer =
  | { brokers: readonly string[]; description: string }
  | { missing: string }
  | { failed: string }

const GIVEN_BROKER_TIMEOUT_MS = 10_000

/** Opens the keeper for the run; the function that it gives closes everything. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  let cluster: KafkaCluster | null = null
  const start = async (): Promise<KeeperAnswer> => {
    const given = process.env.KAFKA_BROKERS
    if (given) return await givenBrokers(given.split(','))
    const found = await findRuntime(process.env)
    if ('missing' in found) {
      if (process.env.REQUIRE_KAFKA !== '1')
        process.stderr.write(`Tests that need Kafka are skipped. ${found.missing}\n`)
      return found
    }
    cluster = await startCluster({ runtime: found.runtime })
    return { brokers: cluster.brokers, description: found.runtime.description }
  }
  let answer: Promise<KeeperAnswer> | null = null
  const server = createServer((_request, response) => {
    answer ??= start().catch((error: Error) => ({ failed: error.message }))
    answer.then((body) => response.end(JSON.stringify(body)))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  project.provide('kafkaKeeper', `http://127.0.0.1:${(server.address() as AddressInfo).port}/`)
  return async () => {
    server.close()
    server.closeAllConnections()
    await answer
    await cluster?.stop()
  }
}

async function givenBrokers(brokers: readonly string[]): Promise<KeeperAnswer> {
  const [first = ''] = brokers
  await untilNamed(first, { timeoutMs: GIVEN_BROKER_TIMEOUT_MS }).catch((error: Error) => {
    throw new Error(`KAFKA_BROKERS names a broker that does not serve without encryption: ${error.message}`)
  })
  return { brokers, description: `Kafka at ${brokers.join(',')}` }
}
