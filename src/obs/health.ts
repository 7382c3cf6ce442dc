/**
 * Runs the named readiness checks and combines their results.
 */

/** True: passed; false: failed; a number from 0 to 1: progress, passed at 1. */
export type Check = () => boolean | number

/** The body of `/healthz` and `/readyz`. */
export interface Health {
  ready: boolean
  checks: Record<string, boolean | number>
}

/** Runs every check. One that throws counts as false. Progress is shown with two decimals, rounded down. */
export function checkHealth(checks: Readonly<Record<string, Check>>): Health {
  const results: Health['checks'] = {}
  for (const [name, check] of Object.entries(checks)) results[name] = outcomeOf(check)
  const ready = Object.values(results).every((result) => result === true || result === 1)
  return { ready, checks: results }
}

function outcomeOf(check: Check): boolean | number {
  try {
    const result = check()
    return typeof result === 'number' ? Math.floor(result * 100) / 100 : result
  } catch {
    return false
  }
}
