/** One installation that Prometheus watches: a sandbox of its own, and processes that keep their addresses through restarts. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { systemClock } from '../../../src/lifecycle/clock.ts'
import { type Sandbox, type SandboxOptions, startSandbox } from '../../../src/sandbox/sandbox.ts'
import {
  type BridgeProcess,
  bridgeEnv,
  runToEnd,
  startBridge,
  temporaryDirectory,
} from '../bridge-process.ts'
import { eventually } from '../http/api-client.ts'
import { freePorts } from '../kafka/runtime/ports.ts'

const READY_MS = 120_000

export interface InstallationOptions {
  /** The same for all of its processes, which tell it to Prometheus. */
  name: string
  /** Of Kafka; without them the log is the embedded one. */
  brokers?: readonly string[]
  /** Processes; more than one need Kafka. Default 1. */
  nodes?: number
  /** A quiet market with a quota for a poll each second, unless these say otherwise. */
  sandbox?: SandboxOptions
  /** Settings of its processes. */
  settings?: Record<string, string>
  /** Where each process keeps its data, and how it is started; default: a directory of its own. */
  disk?: { path: string; inside: readonly string[] }
  /** Its hosts have the market's time, until `moveTime` or `setClocks` says otherwise. Default: they have ours. */
  hasMarketTime?: boolean
}

/** One process of it. */
export interface InstallationNode {
  /** `host:port` of its ops listener, which stays. */
  readonly target: string
  /** The settings of its process, as environment. */
  readonly env: Readonly<Record<string, string>>
  /** The running process. */
  process(): BridgeProcess
  /** Ends it, and starts it again on its data and its addresses, with changed settings; resolves when it is ready to serve. */
  restart(signal?: NodeJS.Signals, changed?: Readonly<Record<string, string>>): Promise<void>
}

export interface Installation extends AsyncDisposable {
  readonly name: string
  readonly sandbox: Sandbox
  readonly nodes: readonly InstallationNode[]
  /** The process that leads. */
  leader(): Promise<InstallationNode>
  /** Moves market and hosts forward; only with `hasMarketTime`. Timers of a process run on, as on a host whose clock is set. */
  moveTime(ms: number): void
  /** Sets the clocks of the hosts so far ahead of the market's; only with `hasMarketTime`. */
  setClocks(aheadMs: number): void
}

/** Loaded into processes whose clock is moved. */
const HOST_CLOCK = join(import.meta.dirname, 'host-clock.ts')

/** Runs a command of the bridge beside that process, with its settings, as its operator would. */
export function runBeside(
  node: InstallationNode,
  line: string,
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const port = new URL(node.process().ready.http).port
  return runToEnd(line.split(' ').slice(1), { ...node.env, BRIDGE_HTTP_PORT: port })
}

/** Starts it; resolves when one of its processes leads and has polled. */
export async function startInstallation(options: InstallationOptions): Promise<Installation> {
  const { name, brokers = [], nodes: count = 1 } = options
  await using made = new AsyncDisposableStack()
  const sandbox = await startSandbox(
    { scenario: 'quiet', plan: 'advanced', weeklyQuota: 1_000_000, ...options.sandbox },
    { clock: systemClock },
  )
  made.defer(() => sandbox.close())
  const clock = made.use(hostClock(sandbox))
  const ports = await freePorts(count)
  const nodes = await Promise.all(
    ports.map(async (port): Promise<InstallationNode> => {
      const directory = made.use(temporaryDirectory())
      const env = bridgeEnv(sandbox, options.disk?.path ?? directory.path, {
        BRIDGE_UPSTREAM_PLAN: 'advanced',
        BRIDGE_INSTALLATION: name,
        BRIDGE_OPS_PORT: String(port),
        ...(brokers.length > 0 && {
          BRIDGE_KAFKA_BROKERS: brokers.join(','),
          BRIDGE_TOPIC_PREFIX: `faults-${name}`,
        }),
        ...(options.hasMarketTime === true && clock.env),
        ...options.settings,
      })
      const start = (): Promise<BridgeProcess> =>
        startBridge(env, ['run'], undefined, options.disk?.inside ?? [])
      let process = await start()
      made.defer(async () => void (await process.stop('SIGKILL')))
      return {
        target: `127.0.0.1:${port}`,
        env,
        process: () => process,
        async restart(signal = 'SIGTERM', changed = {}) {
          Object.assign(env, changed)
          await process.stop(signal)
          process = await start()
          await eventually(
            () => fetch(`${process.ready.ops}/readyz`),
            ({ ok }) => ok,
            READY_MS,
          )
        },
      }
    }),
  )
  const leader = async (): Promise<InstallationNode> => {
    const found = await eventually(
      async () => {
        for (const node of nodes)
          if (/^bridge_leader 1$/m.test(await metricsOf(node))) return { node, polled: await hasPolled(node) }
        return null
      },
      (leading) => leading?.polled === true,
      READY_MS,
    )
    if (found === null) throw new Error(`${name} has no leader`)
    return found.node
  }
  await leader()
  const held = made.move()
  return {
    ...{ name, sandbox, nodes, leader },
    moveTime(ms) {
      sandbox.moveForward(ms)
      clock.move(ms)
    },
    setClocks: clock.setAhead,
    [Symbol.asyncDispose]: () => held.disposeAsync(),
  }
}

/** The clock of its hosts: that of the market, which is months behind ours. */
function hostClock(sandbox: Sandbox) {
  const directory = temporaryDirectory()
  const file = join(directory.path, 'moved-ms')
  let behindMs = sandbox.marketNow() - systemClock.now()
  const set = (aheadMs: number): void => writeFileSync(file, String(behindMs + aheadMs))
  set(0)
  return {
    env: { NODE_OPTIONS: `--import=${HOST_CLOCK}`, HOST_CLOCK_FILE: file },
    move(ms: number) {
      behindMs += ms
      set(0)
    },
    setAhead: set,
    [Symbol.dispose]: () => directory[Symbol.dispose](),
  }
}

async function hasPolled(node: InstallationNode): Promise<boolean> {
  return /^bridge_poll_last_success_timestamp_seconds [1-9]/m.test(await metricsOf(node))
}

/** Empty for a process that does not answer. */
async function metricsOf({ target }: InstallationNode): Promise<string> {
  return fetch(`http://${target}/metrics`, { signal: AbortSignal.timeout(5_000) }).then(
    (answer) => answer.text(),
    () => '',
  )
}
