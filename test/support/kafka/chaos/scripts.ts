/** Lists every named fault script, and the brokers that it needs. */
import { moves, outages } from './brokers.ts'
import { kills } from './kills.ts'
import type { FaultScript } from './script.ts'
import { separations } from './separations.ts'

const onOneNode = { ...kills, ...separations, ...outages }
const all: Readonly<Record<string, FaultScript>> = { ...onOneNode, ...moves }

/** The names of the scripts that one broker is enough for. */
export const oneNodeScripts: readonly string[] = Object.keys(onOneNode)

/** The names of those that need three brokers. */
export const threeNodeScripts: readonly string[] = Object.keys(moves)

/**
 * The script of that name.
 * @throws Error naming the known ones
 */
export function findScript(name: string): FaultScript {
  const script = all[name]
  if (script !== undefined) return script
  throw new Error(`no such script: ${name}; known: ${Object.keys(all).join(', ')}`)
}
