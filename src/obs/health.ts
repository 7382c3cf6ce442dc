/**
 * Runs the named readiness checks and combines their results.
 */
import type { Logger } from './logger.ts'

/** True: passed; false: failed; a number from 0 to 1: progress, passed at 1. */
export type Check = () => boolean | number

/** The body of `/healthz` and `/readyz`. */
export interface Health {
  ready: boolean
  checks: Record<string, boolean | number>
  /** Polling is paused by an operator; absent where it is not. The process is ready all the same. */
  polling?: 'paused'
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

/**
 * Returns a function that runs every check. One that throws is logged once until it passes again: anybody may ask as often as
 * they like. `isPaused`: whether polling is paused.
 */
export function createReadiness(
  checks: Readonly<Record<string, Check>>,
  logger: Logger,
  isPaused: () => boolean = () => false,
): () => Health {
  const broken = new Set<string>()
  return () => {
    const health = checkHealth(checks, (check, error) => {
      if (!broken.has(check)) logger.error('readiness.check_failed', { check, error })
      broken.add(check)
    })
    for (const check of broken) if (Number(health.checks[check]) === 1) broken.delete(check)
    return isPaused() ? { ...health, polling: 'paused' } : health
  }
}

function outcomeOf(result: boolean | number): boolean | number {
  return typeof result === 'number' ? Math.floor(result * 100) / 100 : result
}
