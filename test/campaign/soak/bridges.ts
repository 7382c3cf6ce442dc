/**
 * Starts the bridges of a soak, restarts them on the same ports, and stops and starts their broker: one process with every
 * role on the embedded log; poller, readers and webhooks as a process each on Kafka.
 */
import { mkdirSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { bridgeEnv, type Ready } from '../../support/bridge-process.ts'
import { type KafkaCluster, startCluster } from '../../support/kafka/cluster.ts'
import { findRuntime } from '../../support/kafka/runtime/find-runtime.ts'
import { freePorts } from '../../support/kafka/runtime/ports.ts'
import { LOCAL_RECEIVERS } from '../../support/webhooks/endpoint-api.ts'
import type { SoakMarket } from './market.ts'
import { type SoakProcess, startProcess } from './process.ts'

/** The logs that can be tried. */
export type SoakLog = 'embedded' | 'kafka'

/** Processes by name, and what each runs. */
const ROLES: Readonly<Record<SoakLog, Readonly<Record<string, string>>>> = {
  embedded: { bridge: 'all' },
  kafka: { poller: 'poller', reader: 'api,feed,console', webhooks: 'webhooks' },
}

/** One bridge. */
export interface SoakBridge {
  readonly name: string
  readonly dataDir: string
  readonly process: SoakProcess
  readonly ready: Ready
}

interface Plan {
  name: string
  dataDir: string
  env: Record<string, string>
}

/** Every bridge of one installation, and its broker. */
export class SoakBridges {
  readonly #folder: string
  readonly #plans: readonly Plan[]
  readonly #running = new Map<string, SoakBridge>()
  readonly #broker: KafkaCluster | null

  private constructor(folder: string, plans: readonly Plan[], broker: KafkaCluster | null) {
    this.#folder = folder
    this.#plans = plans
    this.#broker = broker
  }

  /**
   * Leaves no process where it fails.
   * @throws Error where Kafka is wanted and cannot be run here, a bridge does not start, or `stopped` aborts
   */
  static async start(
    folder: string,
    log: SoakLog,
    market: SoakMarket,
    stopped: AbortSignal,
  ): Promise<SoakBridges> {
    const broker = log === 'kafka' ? await startBroker(`${folder}/kafka`) : null
    const roles = Object.entries(ROLES[log])
    const ports = await freePorts(roles.length * 2)
    const plans = roles.map(([name, role], index): Plan => {
      const dataDir = `${folder}/${name}`
      mkdirSync(dataDir, { recursive: true })
      const env = bridgeEnv(market, dataDir, {
        BRIDGE_ROLES: role,
        BRIDGE_UPSTREAM_PLAN: 'ultimate',
        BRIDGE_DRAIN_TIMEOUT: 'PT10S',
        BRIDGE_HTTP_PORT: String(ports[2 * index]),
        BRIDGE_OPS_PORT: String(ports[2 * index + 1]),
        ...LOCAL_RECEIVERS,
        ...(broker !== null && {
          BRIDGE_KAFKA_BROKERS: broker.brokers.join(','),
          BRIDGE_TOPIC_PREFIX: 'soak',
        }),
      })
      return { name, dataDir, env }
    })
    const bridges = new SoakBridges(folder, plans, broker)
    try {
      for (const { name } of plans) await bridges.#startOne(name, stopped)
    } catch (error) {
      await bridges.stop()
      throw error
    }
    return bridges
  }

  /** Those that run. */
  list(): SoakBridge[] {
    return [...this.#running.values()]
  }

  /** Where the API answers; the same over restarts. */
  get http(): string {
    const serving = this.#running.get('reader') ?? this.#running.get('bridge')
    return serving?.ready.http ?? 'http://127.0.0.1:9'
  }

  /** The data folder of the broker; null on the embedded log. */
  get brokerFolder(): string | null {
    return this.#broker === null ? null : `${this.#folder}/kafka`
  }

  /** Stops each with this signal and starts it again, one after the other; resolves with what went wrong. */
  async restart(signal: NodeJS.Signals): Promise<string[]> {
    const faults: string[] = []
    for (const { name } of this.#plans) {
      const isClean = await this.#running.get(name)?.process.stop(signal)
      if (isClean === false) faults.push(`${name} did not end cleanly after ${signal}`)
      await this.#startOne(name)
    }
    return faults
  }

  /** Starts again what ended by itself; resolves with the last words of each. */
  async revive(): Promise<string[]> {
    const faults: string[] = []
    for (const { name, process } of this.list()) {
      if (process.isRunning()) continue
      faults.push(`${name} ended by itself: ${process.lastWords()}`)
      await this.#startOne(name)
    }
    return faults
  }

  /** The broker is away for so long. */
  async stopBroker(signal: 'SIGTERM' | 'SIGKILL', awayMs: number): Promise<void> {
    for (const node of this.#broker?.nodes ?? []) {
      await node.signal(signal)
      await node.ended()
      await sleep(awayMs)
      await node.start()
    }
  }

  /** Resolves with what did not end cleanly. */
  async stop(): Promise<string[]> {
    const faults: string[] = []
    for (const { name, process } of this.list().reverse())
      if (!(await process.stop('SIGTERM'))) faults.push(`${name} did not end cleanly at the end`)
    for (const node of this.#broker?.nodes ?? []) {
      await node.signal('SIGTERM')
      await node.ended()
    }
    await this.#broker?.stop()
    return faults
  }

  async #startOne(wanted: string, stopped?: AbortSignal): Promise<void> {
    const plan = this.#plans.find(({ name }) => name === wanted)
    if (plan === undefined) throw new Error(`there is no bridge ${wanted}`)
    const { name, dataDir, env } = plan
    const process = await startProcess(`${this.#folder}/${name}`, ['run'], env, stopped)
    this.#running.set(name, { name, dataDir, process, ready: process.ready as Ready })
  }
}

async function startBroker(folder: string): Promise<KafkaCluster> {
  const found = await findRuntime(process.env)
  if ('missing' in found) throw new Error(found.missing)
  return startCluster({ runtime: found.runtime, keptIn: folder })
}
