/** Starts bridges of one installation on a Kafka, and waits for each until it is ready to serve. */
import { onTestFinished } from 'vitest'
import { type BridgeProcess, bridgeEnv, startBridge, temporaryDirectory } from '../bridge-process.ts'
import { eventually } from '../http/api-client.ts'
import { uniqueName } from './clients.ts'

/** Starts one more node with these roles, on a data directory of its own; `more`: settings of this node alone. */
export type StartNode = (
  dataDir: string,
  roles: string,
  more?: Record<string, string>,
) => Promise<BridgeProcess>

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
  return async (dataDir, roles, more = {}) => {
    const bridge = await startBridge(bridgeEnv(upstream, dataDir, { ...own, ...more, BRIDGE_ROLES: roles }))
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

/** As `kafkaNodes`; each node has a directory of its own, and both are gone when the running test is over. */
export function kafkaNodesOfTest(
  ...installation: Parameters<typeof kafkaNodes>
): (roles: string) => Promise<BridgeProcess> {
  const start = kafkaNodes(...installation)
  return async (roles) => {
    const directory = temporaryDirectory()
    onTestFinished(() => directory[Symbol.dispose]())
    const node = await start(directory.path, roles)
    // Runs before the directory goes: the last that was registered is the first.
    onTestFinished(async () => void (await node.stop('SIGKILL')))
    return node
  }
}
