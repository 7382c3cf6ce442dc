/** Checks when the poller of a simulated world polled, and what its reconciliations have read. */
import type { World } from '../ingest-world.ts'

/** Answers, commits, a restart. */
const SLACK_MS = 30_000

/** True where a daily reconciliation has read that item time, and began before that moment. */
export function wasReconciled(world: World, timeMs: number, beforeMs: number): boolean {
  return world.reports.some(({ atMs, event, fields }) => {
    if (event !== 'page_scan.completed' || fields.kind !== 'daily_reconciliation') return false
    const beganMs = atMs - Number(fields.durationMs)
    const [fromMs, toMs] = [Date.parse(String(fields.from)), Date.parse(String(fields.to))]
    return beganMs < beforeMs && fromMs <= timeMs && timeMs <= toMs
  })
}

/** The longest time between two polls, ms. */
export function longestPauseMs({ polls }: World): number {
  return polls.reduce((most, { atMs }, index) => Math.max(most, atMs - (polls[index - 1]?.atMs ?? atMs)), 0)
}

/** Pauses between polls longer than planned by half, where no failure asked for the wait; each as a sentence. */
export function longPauses(world: World): string[] {
  return world.polls.flatMap(({ atMs }, index) => {
    const before = world.polls[index - 1]
    if (before === undefined) return []
    const waitMs = world.reports
      .filter((report) => report.event === 'upstream.request_failed' && holdsPolls(report.fields))
      .filter((report) => report.atMs >= before.atMs && report.atMs < atMs)
      .reduce((sum, { fields }) => sum + Number(fields.waitMs), 0)
    // A new process waits from the last request, which may have been a page.
    const isNew = world.claimsMs.some((claimMs) => claimMs >= before.atMs && claimMs < atMs)
    // Clocks that are set during a wait move its end a little.
    const allowedMs = Math.max((isNew ? 2 : 1.5) * before.plannedMs, 1.01 * waitMs) + SLACK_MS
    const pauseMs = atMs - before.atMs
    if (pauseMs <= allowedMs) return []
    return `${minutes(pauseMs)} from ${new Date(before.atMs).toISOString()}, allowed ${minutes(allowedMs)}`
  })
}

/** A page scan that fails by itself keeps no poll waiting. */
function holdsPolls({ purpose, result }: Record<string, unknown>): boolean {
  return (
    purpose === 'poll' || purpose === 'probe' || ['throttled', 'quota', 'network'].includes(String(result))
  )
}

function minutes(ms: number): string {
  return `${(ms / 60_000).toFixed(1)} min`
}
