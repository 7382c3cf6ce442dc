/**
 * A broker of their own behind a proxy, for the tests of one `describe`. Owns its hooks: the broker lives as long as the
 * block, the proxy and the logs that were opened as long as a test.
 */
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest'
import { type KafkaCluster, startCluster } from '../cluster.ts'
import { createLogKeeper, type LogKeeper } from '../kafka-logs.ts'
import type { KafkaRuntime } from '../runtime/runtime.ts'
import { type KafkaProxy, PROXIED, startProxies } from './proxy.ts'

/** What a test of the block may use, from its beginning on. */
export interface ProxiedCluster {
  readonly cluster: KafkaCluster
  readonly proxy: KafkaProxy
  /** Of the broker, by way of the proxy. */
  readonly behindProxy: string[]
  readonly logs: LogKeeper
}

/** Registers the hooks; nothing is started where there is no runtime, and the block is to be skipped. */
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
