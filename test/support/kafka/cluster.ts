/** Starts, kills and restarts the brokers of one test: one node, or three that replicate. */
import { randomBytes } from 'node:crypto'
import { copyFileSync, cpSync, existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { untilNamed } from './metadata.ts'
import { clearLeftovers, makeBrokerFolder, NOTES } from './runtime/leftovers.ts'
import { freePorts } from './runtime/ports.ts'
import { CLASSES, type FaultSignal, type JavaProcess, type KafkaRuntime } from './runtime/runtime.ts'
import { type Listener, type ListenerSpec, PLAIN, serverProperties } from './runtime/server-properties.ts'

/** A user whose SCRAM credentials are in the cluster from its first moment. */
export interface ScramUser {
  mechanism: 'SCRAM-SHA-256' | 'SCRAM-SHA-512'
  name: string
  password: string
}

/** The options of a cluster. */
export interface ClusterOptions {
  runtime: KafkaRuntime
  /** Three: replication 3, two in sync, controllers in the brokers. Default one. */
  nodes?: 1 | 3
  /** Listeners of every node besides the plain one. */
  listeners?: readonly ListenerSpec[]
  scramUsers?: readonly ScramUser[]
  /** A folder of compiled classes, which the brokers can load. Only where the runtime has `jars`. */
  classes?: string
  /** Keeps the brokers' data here, over several runs of the same number of nodes; default: a folder that goes with them. */
  keptIn?: string
  /** For brokers that work for minutes: their code is compiled fully, which takes 20 s of a core. */
  longLived?: boolean
  /** More broker settings; they override the defaults of the tests. */
  properties?: Readonly<Record<string, string>>
}

/** One broker. */
export interface KafkaNode {
  readonly nodeId: number
  /** `host:port` of the plain listener. */
  readonly address: string
  /** Its data directory. */
  readonly logFolder: string
  /**
   * The ports of a listener.
   * @throws Error when the node has none of that name
   */
  listener(name: string): Listener
  /** Ends the process at once, as kill -9 does, and resolves when it has exited. */
  kill(): Promise<void>
  /** Sends a signal. `SIGSTOP` and `SIGCONT` freeze and thaw it; `SIGTERM` begins a clean stop. */
  signal(signal: FaultSignal): Promise<void>
  /** Resolves when the process has exited. */
  ended(): Promise<void>
  /** Starts it again on the same folder and ports; resolves when it responds to Metadata requests. */
  start(): Promise<void>
}

/** Running brokers. Disposing of them kills them and removes their data. */
export interface KafkaCluster extends AsyncDisposable {
  readonly nodes: readonly KafkaNode[]
  /** The nodes' plain listeners. */
  readonly brokers: readonly string[]
  /** What clients of that listener connect to: the nodes' advertised addresses. */
  addresses(listener: string): string[]
  /** Callable twice. */
  stop(): Promise<void>
}

/** Cold and under load on two cores. A start takes 2–5 s on an idle machine. */
const READY_TIMEOUT_MS = 60_000
const KAFKA = 'kafka.Kafka'
const STORAGE_TOOL = 'kafka.tools.StorageTool'
const FULLY_COMPILED = ['-XX:TieredStopAtLevel=4', '-Xmx1g']
const CHECKPOINT = 'bootstrap.checkpoint'

/**
 * Starts the brokers and waits until each names itself.
 * @throws Error with the broker's output when one does not come up
 */
export async function startCluster(options: ClusterOptions): Promise<KafkaCluster> {
  clearLeftovers()
  const folder = options.keptIn ?? makeBrokerFolder()
  if (options.keptIn !== undefined) mkdirSync(join(folder, NOTES), { recursive: true })
  const nodes = await layOut(folder, options)
  for (const [name, text] of Object.entries(options.runtime.version.files))
    writeFileSync(join(folder, name), text)
  if (options.classes !== undefined) cpSync(options.classes, join(folder, CLASSES), { recursive: true })
  const processes = new Map<number, JavaProcess>()
  const stop = async (): Promise<void> => {
    await Promise.all([...processes.values()].map(kill))
    if (options.keptIn === undefined) rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  }
  const startNode = async (node: NodeFiles): Promise<void> => {
    if (processes.get(node.nodeId)?.isRunning()) throw new Error(`Broker ${node.nodeId} is running already`)
    const javaOptions = options.longLived ? FULLY_COMPILED : []
    const process = await options.runtime.start(folder, node.name, KAFKA, [node.propertiesFile], javaOptions)
    processes.set(node.nodeId, process)
    await untilNamed(addressOf(node, PLAIN.name), {
      nodeId: node.nodeId,
      timeoutMs: READY_TIMEOUT_MS,
      giveUp: () =>
        process.isRunning() ? null : new Error(`Broker ${node.nodeId} has ended:\n${process.output()}`),
    })
  }
  try {
    if (nodes.every(({ logFolder }) => !existsSync(logFolder))) await format(folder, nodes, options)
    await Promise.all(nodes.map(startNode))
  } catch (error) {
    await stop()
    throw error
  }
  const running = (nodeId: number): JavaProcess => {
    const process = processes.get(nodeId)
    if (process === undefined) throw new Error(`Broker ${nodeId} was never started`)
    return process
  }
  return {
    nodes: nodes.map((node) => ({
      nodeId: node.nodeId,
      address: addressOf(node, PLAIN.name),
      logFolder: node.logFolder,
      listener: (name) => listenerOf(node, name),
      kill: () => kill(running(node.nodeId)),
      signal: (signal) => running(node.nodeId).signal(signal),
      ended: () => running(node.nodeId).ended,
      start: () => startNode(node),
    })),
    brokers: nodes.map((node) => addressOf(node, PLAIN.name)),
    addresses: (listener) => nodes.map((node) => addressOf(node, listener)),
    stop,
    [Symbol.asyncDispose]: stop,
  }
}

interface NodeFiles {
  nodeId: number
  name: string
  logFolder: string
  propertiesFile: string
  listeners: readonly Listener[]
}

async function layOut(folder: string, options: ClusterOptions): Promise<NodeFiles[]> {
  const { version } = options.runtime
  const { properties = {} } = options
  const specs = [PLAIN, ...(options.listeners ?? [])]
  const ids = Array.from({ length: options.nodes ?? 1 }, (_, index) => index + 1)
  // A port for the controller, two for each listener; those not behind a proxy leave one unused.
  const ports = await freePorts(ids.length * (1 + 2 * specs.length))
  const nextPort = (): number => ports.pop() ?? 0
  const voters = ids.map((nodeId) => ({ nodeId, controllerPort: nextPort() }))
  return voters.map(({ nodeId, controllerPort }) => {
    const name = `node-${nodeId}`
    const logFolder = join(folder, name)
    const propertiesFile = join(folder, `${name}.properties`)
    const listeners = specs.map((spec) => withPorts(spec, nextPort))
    const node = { nodeId, version, logFolder, listeners, controllerPort, voters, properties }
    writeFileSync(propertiesFile, serverProperties(node))
    return { nodeId, name, logFolder, propertiesFile, listeners }
  })
}

function withPorts(spec: ListenerSpec, nextPort: () => number): Listener {
  const port = nextPort()
  return { ...spec, port, advertisedPort: spec.behindProxy ? nextPort() : port }
}

/** Formats the storage folders, running Kafka's storage tool at most once, and never if its result is cached. */
async function format(folder: string, nodes: readonly NodeFiles[], options: ClusterOptions): Promise<void> {
  const clusterId = uuid()
  const { runtime, scramUsers = [] } = options
  const [first, ...others] = nodes
  if (first === undefined) return
  const ready = scramUsers.length === 0 ? runtime.checkpointFile : null
  if (ready === null) {
    const users = scramUsers.flatMap(({ mechanism, name, password }) => [
      '--add-scram',
      `${mechanism}=[name=${name},password=${password}]`,
    ])
    await runtime.run(folder, STORAGE_TOOL, ['format', '-t', clusterId, '-c', first.propertiesFile, ...users])
  }
  const checkpoint = ready ?? join(first.logFolder, CHECKPOINT)
  for (const { nodeId, logFolder } of ready === null ? others : nodes) {
    mkdirSync(logFolder)
    copyFileSync(checkpoint, join(logFolder, CHECKPOINT))
    const lines = ['version=1', `cluster.id=${clusterId}`, `node.id=${nodeId}`, `directory.id=${uuid()}`]
    writeFileSync(join(logFolder, 'meta.properties'), `${lines.join('\n')}\n`)
  }
}

/** Kafka's form of an id. One that begins with a dash reads as an option on the tool's command line. */
function uuid(): string {
  const id = randomBytes(16).toString('base64url')
  return id.startsWith('-') ? uuid() : id
}

async function kill(process: JavaProcess): Promise<void> {
  if (process.isRunning()) await process.signal('SIGKILL')
  await process.ended
}

function listenerOf(node: NodeFiles, name: string): Listener {
  const found = node.listeners.find((listener) => listener.name === name)
  if (found === undefined) throw new Error(`Broker ${node.nodeId} has no listener ${name}`)
  return found
}

function addressOf(node: NodeFiles, listener: string): string {
  return `127.0.0.1:${listenerOf(node, listener).advertisedPort}`
}
