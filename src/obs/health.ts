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

/**
 * Runs every check. Progress is shown with two decimals, rounded down. One that throws counts as false, and `onError` gets
 * what it threw.
 */
export function checkHealth(
  checks: Readonly<Record<string, Check>>,
  onError: (name: string, error: unknown) => void,
): Health {
  const results: Health['checks'] = {}
  for (const [name, check] of Object.entries(checks)) {
    try {
      results[name] = outcomeOf(check())
    } catch (error) {
      results[name] = false
      onError(name, error)
    }
  }
  const ready = Object.values(results).every((result) => result === true || result === 1)
  return { ready, checks: results }
}

function outcomeOf(result: boolean | number): boolean | number {
  return typeof result === 'number' ? Math.floor(result * 100) / 100 : result
}
