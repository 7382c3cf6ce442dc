/**
 * Plays one simulated world of the campaign on its own data directory, checks the result and measures the real time.
 */
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Metrics } from '../../../src/obs/metrics.ts'
import { runWorld, type WorldPlan, type WorldRun } from './sandbox-world.ts'
import { planOf, type WorldCase } from './world-cases.ts'
import { judgeWorld, type WorldVerdict } from './world-verdict.ts'

/** Files in memory, where the machine has them: these worlds end cleanly or by a closed file, never by a lost disk. */
const MEMORY_FILES = '/dev/shm'

/** The result of one world. */
export interface PlayedWorld {
  case: WorldCase
  verdict: WorldVerdict
  /** Market minutes simulated, and real seconds used. */
  virtualMinutes: number
  seconds: number
}

/** Plays and checks a world. `look` gets all evidence. */
export async function playWorld(
  worldCase: WorldCase,
  metrics: Metrics,
  look: (plan: WorldPlan, run: WorldRun) => void = () => {},
): Promise<PlayedWorld> {
  const dataDir = mkdtempSync(join(existsSync(MEMORY_FILES) ? MEMORY_FILES : tmpdir(), 'bridge-world-'))
  const beganMs = performance.now()
  try {
    const plan = planOf(worldCase)
    const run = await runWorld(plan, { dataDir, metrics })
    look(plan, run)
    return {
      case: worldCase,
      verdict: judgeWorld(plan, run),
      virtualMinutes: run.virtualMs / 60_000,
      seconds: (performance.now() - beganMs) / 1000,
    }
  } finally {
    rmSync(dataDir, { recursive: true, force: true })
  }
}
