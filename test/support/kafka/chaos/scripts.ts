/** Lists every named fault script, and the brokers that it needs. */
import { moves, outages } from './brokers.ts'
import { kills } from './kills.ts'
import { replicaFaults } from './replicas.ts'
import type { FaultScript } from './script.ts'
import { separations } from './separations.ts'

const onOneNode = { ...kills, ...separations, ...outages }
const onThreeNodes = { ...moves, ...replicaFaults }
const all: Readonly<Record<string, FaultScript>> = { ...onOneNode, ...onThreeNodes }

/** The names of the scripts that one broker is enough for. */
export const oneNodeScripts: readonly string[] = Object.keys(onOneNode)

/** The names of those that need three brokers. */
export const threeNodeScripts: readonly string[] = Object.keys(onThreeNodes)

/** Those in which a coordinator moves because its broker dies. */
export const moveScripts: readonly string[] = Object.keys(moves)

/** Those in which replicas fall behind and catch up. */
export const replicaScripts: readonly string[] = Object.keys(replicaFaults)

/**
 * The script of that name.
 * @throws Error naming the known ones
 */
export function findScript(name: string): FaultScript {
  const script = all[name]
  if (script !== undefined) return script
  throw new Error(`no such script: ${name}; known: ${Object.keys(all).join(', ')}`)
}
