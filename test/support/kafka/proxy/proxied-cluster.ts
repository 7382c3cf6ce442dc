/**
 * Starts a broker behind a proxy for the tests of one `describe`. The broker lives as long as the block, the proxy and
 * the opened logs as long as a test.
 */
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest'
import { type KafkaCluster, startCluster } from '../cluster.ts'
import { createLogKeeper, type LogKeeper } from '../kafka-logs.ts'
import type { KafkaRuntime } from '../runtime/runtime.ts'
import { type KafkaProxy, PROXIED, startProxies } from './proxy.ts'

/** The parts that a test of the block may use. */
export interface ProxiedCluster {
  readonly cluster: KafkaCluster
  readonly proxy: KafkaProxy
  /** Of the broker, by way of the proxy. */
  readonly behindProxy: string[]
  readonly logs: LogKeeper
}

/** Registers the hooks; without a runtime nothing is started, and the block must be skipped. */
export function useProxiedCluster(
  runtime: KafkaRuntime | null,
  properties: Record<string, string> = {},
): ProxiedCluster {
  const logs = createLogKeeper()
  let cluster: KafkaCluster | null = null
  let proxy: KafkaProxy | null = null
  const started = <T>(part: T | null): T => {
    if (part === null) throw new Error('it is started before the first test of the block')
    return part
  }

  beforeAll(async () => {
    if (runtime !== null) cluster = await startCluster({ runtime, listeners: [PROXIED], properties })
  })
  afterAll(() => cluster?.stop())
  beforeEach(async () => {
    const [first] = await startProxies(started(cluster))
    proxy = first ?? null
  })
  afterEach(async () => {
    await logs.closeAll()
    await proxy?.close()
  })

  return {
    get cluster() {
      return started(cluster)
    },
    get proxy() {
      return started(proxy)
    },
    get behindProxy() {
      return started(cluster).addresses(PROXIED.name)
    },
    logs,
  }
}
