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

const NOTHING_PLAYED: RealLogTally = { worlds: 0, operations: 0, differences: 0, outages: 0, seconds: 0 }

/** What one world did on one kind of log. */
export interface PlayedOnLog extends Replayed {
  log: RealLogName
  operations: number
  seconds: number
}

/** Sums over the worlds that were played on one kind of log. */
export interface RealLogTally {
  worlds: number
  operations: number
  differences: number
  /** Operations that the log did not answer in time, and that were then read or repeated. */
  outages: number
  seconds: number
}

/** Plays worlds, one at a time, each on an unused log. Starts a broker when the first world needs one. */
export class RealLogs implements AsyncDisposable {
  #cluster: Promise<KafkaCluster> | null = null
  #runtime: KafkaRuntime | null = null
  #left = 0

  /** Does to a log of each of these kinds what the world did to its simulated one. `version`: of Kafka, e.g. `4`. */
  async play(world: RecordedWorld, names: readonly RealLogName[], version: string): Promise<PlayedOnLog[]> {
    const played: PlayedOnLog[] = []
    for (const log of names) {
      const beganMs = performance.now()
      const replayed = await this.#play(log, world, version)
      const seconds = (performance.now() - beganMs) / 1000
      played.push({ log, ...replayed, operations: world.operations.length, seconds })
    }
    return played
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await (await this.#cluster)?.stop()
  }

  /** A log that fails counts as a difference. */
  async #play(name: RealLogName, world: RecordedWorld, version: string): Promise<Replayed> {
    try {
      await using log = name === 'embedded' ? embeddedLog() : await this.#kafkaLog(version)
      return await replay(world, log)
    } catch (error) {
      return { difference: messageOf(error), outages: 0 }
    }
  }

  async #kafkaLog(version: string): Promise<RealLog> {
    if (this.#cluster === null || this.#left === 0) {
      await (await this.#cluster)?.stop()
      this.#cluster = this.#start(version)
      this.#left = WORLDS_A_BROKER
    }
    this.#left -= 1
    return kafkaLog((await this.#cluster).brokers)
  }

  async #start(version: string): Promise<KafkaCluster> {
    this.#runtime ??= await kafkaOf(version)
    return startCluster({ runtime: this.#runtime, longLived: true })
  }
}

/** That tally and one world more. */
export function withWorld(tally: RealLogTally | undefined, played: PlayedOnLog): RealLogTally {
  const { worlds, operations, differences, outages, seconds } = tally ?? NOTHING_PLAYED
  return {
    worlds: worlds + 1,
    operations: operations + played.operations,
    differences: differences + (played.difference === null ? 0 : 1),
    outages: outages + played.outages,
    seconds: Math.round((seconds + played.seconds) * 10) / 10,
  }
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
