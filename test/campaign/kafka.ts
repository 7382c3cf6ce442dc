/**
 * Runs the Kafka fault scripts with many seeds on each release and counts the results by script. Several simulated
 * worlds run in parallel, each with its scripts in an order given by its seed. A failure report has the arguments that
 * replay its world alone.
 */
import { seededChance } from '../../src/core/chance.ts'
import { messageOf } from '../../src/errors.ts'
import { type ChaosCase, type PlayedChaos, playChaos } from '../support/kafka/chaos/play.ts'
import { oneNodeScripts, threeNodeScripts } from '../support/kafka/chaos/scripts.ts'
import { findRuntime } from '../support/kafka/runtime/find-runtime.ts'
import type { KafkaRuntime } from '../support/kafka/runtime/runtime.ts'

/** Sums over worlds. */
interface ScriptTally {
  runs: number
  /** Runs that did not finish. */
  failed: number
  seconds: number
}

/** The result of all worlds on one release. */
export interface KafkaTally {
  /** The exact release. */
  kafka: string
  worlds: number
  failed: number
  shown: number
  published: number
  claims: number
  units: number
  unitsOver: number
  afterFence: number
  seconds: number
  byScript: Record<string, ScriptTally>
}

/** A world in which a promise was broken, with the command that replays it alone. */
export interface KafkaFailure {
  again: string
  broken: string[]
}

/** The result of all worlds. */
export interface KafkaReport {
  releases: KafkaTally[]
  failures: KafkaFailure[]
}

/** Selects the worlds. */
export interface KafkaCampaign {
  /** Releases, as `KAFKA_VERSION` names them. */
  versions: readonly string[]
  seeds: number
  firstSeed: number
  /** Only worlds of so many brokers; null: both. */
  nodes: 1 | 3 | null
  /** Worlds at the same time. */
  workers: number
  /** Called for each checked world; `lines`: what its bridges logged. */
  notify: (played: PlayedChaos, failure: KafkaFailure | null, lines: string) => void
}

/** Every script with each seed on each release: two worlds a seed, one of one node and one of three. */
export async function playKafka({
  versions,
  seeds,
  firstSeed,
  nodes,
  workers,
  notify,
}: KafkaCampaign): Promise<KafkaReport> {
  const report: KafkaReport = { releases: [], failures: [] }
  for (const version of versions) {
    const runtime = await kafkaOf(version)
    const tally = emptyTally(runtime)
    report.releases.push(tally)
    const waiting = Array.from({ length: seeds }, (_, index) => casesOf(firstSeed + index, nodes)).flat()
    const beganMs = performance.now()
    const work = async (): Promise<void> => {
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
        let lines = ''
        const played = await playAnyway(runtime, next, (text) => {
          lines = text
        })
        count(tally, played)
        const failure =
          played.broken.length > 0 ? { again: commandFor(next, version), broken: played.broken } : null
        if (failure !== null) report.failures.push(failure)
        notify(played, failure, lines)
      }
    }
    await Promise.all(Array.from({ length: workers }, work))
    tally.seconds = Math.round((performance.now() - beganMs) / 1000)
  }
  return report
}

/** One world of these scripts alone. `look` gets what its bridges logged. */
export async function playKafkaWorld(
  version: string,
  chaosCase: ChaosCase,
  look: (lines: string) => void,
): Promise<PlayedChaos> {
  return playChaos(await kafkaOf(version), chaosCase, look)
}

/** What starts brokers of that release. @throws Error with what is missing */
export async function kafkaOf(version: string): Promise<KafkaRuntime> {
  const found = await findRuntime({ ...process.env, KAFKA_VERSION: version })
  if ('missing' in found) throw new Error(found.missing)
  return found.runtime
}

/** The worlds of one seed with so many brokers; null: both. */
function casesOf(seed: number, nodes: 1 | 3 | null): ChaosCase[] {
  const chance = seededChance(seed)
  const shuffled = (names: readonly string[]): string[] =>
    names
      .map((name) => ({ name, place: chance.next() }))
      .sort((left, right) => left.place - right.place)
      .map(({ name }) => name)
  const three = { seed, scripts: shuffled(threeNodeScripts) }
  const one = { seed, scripts: shuffled(oneNodeScripts) }
  return [...(nodes === 1 ? [] : [three]), ...(nodes === 3 ? [] : [one])]
}

/** A world that cannot start counts as a failure. */
async function playAnyway(
  runtime: KafkaRuntime,
  chaosCase: ChaosCase,
  look: (lines: string) => void,
): Promise<PlayedChaos> {
  return playChaos(runtime, chaosCase, look).catch((error: unknown) => ({
    ...chaosCase,
    kafka: runtime.version.number,
    nodes: 1 as const,
    seconds: {},
    verdict: null,
    broken: [`the start: ${messageOf(error)}`],
  }))
}

function emptyTally(runtime: KafkaRuntime): KafkaTally {
  const counts = { shown: 0, published: 0, claims: 0, units: 0, unitsOver: 0, afterFence: 0 }
  return { kafka: runtime.version.number, worlds: 0, failed: 0, ...counts, seconds: 0, byScript: {} }
}

function count(tally: KafkaTally, { scripts, seconds, verdict, broken }: PlayedChaos): void {
  tally.worlds += 1
  tally.failed += broken.length > 0 ? 1 : 0
  for (const name of ['shown', 'published', 'claims', 'units', 'unitsOver', 'afterFence'] as const)
    tally[name] += verdict?.[name] ?? 0
  const ended = scripts.filter((name) => seconds[name] !== undefined)
  for (const name of scripts.slice(0, ended.length + 1)) {
    tally.byScript[name] ??= { runs: 0, failed: 0, seconds: 0 }
    const script = tally.byScript[name]
    script.runs += 1
    script.failed += ended.includes(name) ? 0 : 1
    script.seconds = Math.round((script.seconds + (seconds[name] ?? 0)) * 10) / 10
  }
}

/** The command that plays this world alone. */
function commandFor({ scripts, seed }: ChaosCase, version: string): string {
  return `npm run campaign -- --script ${scripts.join(',')} --seed ${seed} --kafka ${version}`
}
