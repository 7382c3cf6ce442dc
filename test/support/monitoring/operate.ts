/** What an operator, the market and time do to an installation. */
import { randomUUID } from 'node:crypto'
import { type Installation, type InstallationNode, runBeside } from './installation.ts'
import type { PlacedFault } from './placed-fault.ts'

/** @throws Error where it has no process */
export function firstOf({ name, nodes: [node] }: Installation): InstallationNode {
  if (node === undefined) throw new Error(`${name} has no process`)
  return node
}

/** Runs a command of the bridge as its operator. @throws Error with what it says where it fails */
export async function operate(installation: Installation, line: string): Promise<void> {
  const { code, stderr } = await runBeside(firstOf(installation), line)
  if (code !== 0) throw new Error(`${line}: exit code ${code}\n${stderr}`)
}

/** Publishes so many items now. */
export function publish({ sandbox }: Installation, count = 1): void {
  const timestamp = new Date(sandbox.marketNow()).toISOString()
  sandbox.publish(
    Array.from({ length: count }, () => ({
      guid: `urn:newsml:example:trial:${randomUUID()}`,
      timestamp,
      headline: 'An item',
      issuer: { name: 'Alpha' },
    })),
  )
}

/** A fault that is made over and over, from when it is broken until it is mended. */
export function overAndOver(once: () => Promise<void>): Pick<PlacedFault, 'break' | 'mend'> {
  let isOver = false
  let made: Promise<void> = Promise.resolve()
  const goOn = async (): Promise<void> => {
    while (!isOver) await once()
  }
  return {
    break() {
      made = goOn()
    },
    mend() {
      isOver = true
      return made
    },
  }
}
