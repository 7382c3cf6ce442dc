/** Plays fault scripts one after another in one world, waits until it is idle, stops it and checks the result. */
import { crc32 } from 'node:zlib'
import { seededChance } from '../../../../src/core/chance.ts'
import { messageOf } from '../../../../src/errors.ts'
import type { KafkaRuntime } from '../runtime/runtime.ts'
import { findScript, threeNodeScripts } from './scripts.ts'
import { type ChaosVerdict, judgeChaos } from './verdict.ts'
import { type ChaosWorld, startChaosWorld } from './world.ts'

/** Which faults, in this order. */
export interface ChaosCase {
  scripts: readonly string[]
  seed: number
}

/** The result. */
export interface PlayedChaos extends ChaosCase {
  /** The exact release, e.g. `4.3.1`. */
  kafka: string
  nodes: 1 | 3
  /** How long each script took, s; those after one that failed are missing. */
  seconds: Record<string, number>
  /** null when the world could not be judged; `broken` says why. */
  verdict: ChaosVerdict | null
  /** One sentence per broken promise. */
  broken: string[]
}

/** Plays the scripts and checks the result. `look` gets the log lines of every bridge. */
export async function playChaos(
  runtime: KafkaRuntime,
  { scripts, seed }: ChaosCase,
  look: (lines: string) => void = () => undefined,
): Promise<PlayedChaos> {
  const nodes = scripts.some((name) => threeNodeScripts.includes(name)) ? 3 : 1
  const seconds: Record<string, number> = {}
  const played = { scripts, seed, kafka: runtime.version.number, nodes, seconds } as const
  const parts = scripts.map((name) => ({ name, script: findScript(name) }))
  await using world = await startChaosWorld({ runtime, nodes, seed })
  let step = 'the start'
  try {
    for (const { name, script } of parts) {
      step = name
      const beganMs = performance.now()
      await script(world, seededChance(crc32(`${seed}:${name}`)))
      seconds[name] = Math.round((performance.now() - beganMs) / 100) / 10
    }
    step = 'the rest'
    const owed = await world.rests()
    step = 'the stop'
    for (const place of world.places) {
      const code = await place.stop()
      if (code !== 0) throw new Error(`the bridge at ${place.name} ended with ${code}`)
    }
    step = 'the verdict'
    const verdict = await judgeChaos(world, owed)
    return { ...played, verdict, broken: verdict.broken }
  } catch (error) {
    return { ...played, verdict: null, broken: [`${step}: ${messageOf(error)}${endings(world)}`] }
  } finally {
    look(world.places.map((place) => place.lines()).join(''))
  }
}

/** The output of bridges that ended by themselves: its last lines show why. */
function endings({ places }: ChaosWorld): string {
  return places
    .filter((place) => !place.isRunning())
    .map(
      (place) => `\n  ${place.name} has ended: ${place.lines().trimEnd().split('\n').slice(-3).join('\n  ')}`,
    )
    .join('')
}
