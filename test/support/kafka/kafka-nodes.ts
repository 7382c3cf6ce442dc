/** Starts bridges of one installation on a Kafka, and waits for each until it is ready to serve. */
import { type BridgeProcess, bridgeEnv, startBridge } from '../bridge-process.ts'
import { eventually } from '../http/api-client.ts'
import { uniqueName } from './clients.ts'

/** Starts one more node with these roles, on a data directory of its own. */
export type StartNode = (dataDir: string, roles: string) => Promise<BridgeProcess>

/** The nodes of a new installation on the plan `advanced`; `name` begins the names of its topics. */
export function kafkaNodes(
  name: string,
  brokers: readonly string[] | null,
  upstream: { url: string; key: string },
  settings: Record<string, string> = {},
): StartNode {
  const own = {
    BRIDGE_UPSTREAM_PLAN: 'advanced',
    BRIDGE_KAFKA_BROKERS: (brokers ?? []).join(','),
    BRIDGE_TOPIC_PREFIX: uniqueName(name),
    ...settings,
  }
  return async (dataDir, roles) => {
    const bridge = await startBridge(bridgeEnv(upstream, dataDir, { ...own, BRIDGE_ROLES: roles }))
    try {
      await eventually(
        () => fetch(`${bridge.ready.ops}/readyz`),
        ({ ok }) => ok,
      )
    } catch (error) {
      await bridge.stop('SIGKILL')
      throw error
    }
    return bridge
  }
}
