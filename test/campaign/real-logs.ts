/** Plays recorded worlds on real logs: `npm run campaign -- --broken 50 --log embedded,kafka`. */
import { messageOf } from '../../src/errors.ts'
import { type KafkaCluster, startCluster } from '../support/kafka/cluster.ts'
import type { KafkaRuntime } from '../support/kafka/runtime/runtime.ts'
import type { RecordedWorld } from '../support/worlds/real-log/operations.ts'
import { embeddedLog, kafkaLog, type RealLog } from '../support/worlds/real-log/real-log.ts'
import { type Replayed, replay } from '../support/worlds/real-log/replay.ts'
import { kafkaOf } from './kafka.ts'

/** The real logs that a world can be played on. */
export const realLogNames = ['embedded', 'kafka'] as const
/** One of them. */
export type RealLogName = (typeof realLogNames)[number]

/** A world leaves eleven topics; a broker with thousands of them slows down. */
const WORLDS_A_BROKER = 100

/** What was played on one kind of log. */
export interface RealLogTally {
  worlds: number
  operations: number
  differences: number
  /** Operations that the log did not answer in time, and that were then read or repeated. */
  outages: number
  seconds: number
}

/** Plays worlds, one at a time, each on an unused log of each of these kinds. */
export class RealLogs implements AsyncDisposable {
  readonly tallies: Partial<Record<RealLogName, RealLogTally>> = {}
  readonly #names: readonly RealLogName[]
  readonly #version: string
  #cluster: KafkaCluster | null = null
  #runtime: KafkaRuntime | null = null
  #left = 0

  /** `version`: the release of Kafka, e.g. `4`. */
  constructor(names: readonly RealLogName[], version = '4') {
    this.#names = names
    this.#version = version
  }

  /** False where there is no real log to play on. */
  get areAny(): boolean {
    return this.#names.length > 0
  }

  /** The differences between the simulated log of the world and the real ones; a sentence each. */
  async differences(world: RecordedWorld): Promise<string[]> {
    const found: string[] = []
    for (const name of this.#names) {
      const beganMs = performance.now()
      const { difference, outages } = await this.#play(name, world)
      const seconds = (performance.now() - beganMs) / 1000
      const tally = this.tallies[name] ?? emptyTally()
      this.tallies[name] = {
        worlds: tally.worlds + 1,
        operations: tally.operations + world.operations.length,
        differences: tally.differences + (difference === null ? 0 : 1),
        outages: tally.outages + outages,
        seconds: Math.round((tally.seconds + seconds) * 10) / 10,
      }
      if (difference !== null) found.push(`on the log ${name}: ${difference}`)
    }
    return found
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#cluster?.stop()
  }

  /** A log that fails counts as a difference. */
  async #play(name: RealLogName, world: RecordedWorld): Promise<Replayed> {
    try {
      await using log = name === 'embedded' ? embeddedLog() : await this.#kafkaLog()
      return await replay(world, log)
    } catch (error) {
      return { difference: messageOf(error), outages: 0 }
    }
  }

  async #kafkaLog(): Promise<RealLog> {
    if (this.#cluster === null || this.#left === 0) {
      await this.#cluster?.stop()
      this.#runtime ??= await kafkaOf(this.#version)
      this.#cluster = await startCluster({ runtime: this.#runtime })
      this.#left = WORLDS_A_BROKER
    }
    this.#left -= 1
    return kafkaLog(this.#cluster.brokers)
  }
}

function emptyTally(): RealLogTally {
  return { worlds: 0, operations: 0, differences: 0, outages: 0, seconds: 0 }
}

/**
 * The kinds of logs in a list by comma; `simulated` adds none.
 * @throws Error for another word
 */
export function realLogsOf(list: string): RealLogName[] {
  return list
    .split(',')
    .filter((word) => word !== 'simulated')
    .map((word) => {
      const name = realLogNames.find((known) => known === word)
      if (name === undefined)
        throw new Error(`--log takes simulated, ${realLogNames.join(', ')}: not ${word}`)
      return name
    })
}
