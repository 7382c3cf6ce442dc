/**
 * Writes the figures to `docs/change/benchmarks.md`: one block per part, between markers, as printed by the bench, with
 * lines about the machine. It leaves all text outside the blocks unchanged.
 */
import { existsSync, readFileSync } from 'node:fs'
import { cpus, loadavg } from 'node:os'
import { isoSeconds } from '../../src/core/dates.ts'
import { systemClock } from '../../src/lifecycle/clock.ts'

/** Of one core; above it the machine was doing something else before the bench began. */
const BUSY_LOAD = 0.3

/** Describes time, machine and load; to be called before the bench starts. */
export function machineLine(): string {
  const [load = 0] = loadavg()
  const all = cpus()
  const machine = `${all.length} × ${all[0]?.model.trim() ?? 'unknown CPU'}`
  const busy = `${load > BUSY_LOAD ? 'BUSY' : 'quiet'} machine (load ${load.toFixed(1)} before)`
  return `${isoSeconds(systemClock.now())}, ${machine}, Node ${process.versions.node}, ${busy}`
}

/** Of all processors since the start, in the kernel's ticks (proc(5)): everything, and the eighth column, `steal`. */
const KERNEL_TIMES = '/proc/stat'

/** To be called before the bench starts; the returned function reports the CPU time stolen by the host since then. */
export function watchHost(): () => string[] {
  const before = kernelTimes()
  return () => {
    const after = kernelTimes()
    if (before === null || after === null || after.all === before.all) return []
    const share = (after.stolen - before.stolen) / (after.all - before.all)
    return [`the machine's host took ${(100 * share).toFixed(0)} % of its processor time meanwhile`]
  }
}

function kernelTimes(): { all: number; stolen: number } | null {
  if (!existsSync(KERNEL_TIMES)) return null
  const [line = ''] = readFileSync(KERNEL_TIMES, 'utf8').split('\n')
  // Guests' time is in the first column already.
  const ticks = line.trim().split(/\s+/).slice(1, 9).map(Number)
  return { all: ticks.reduce((sum, one) => sum + one, 0), stolen: ticks[7] ?? 0 }
}

/**
 * The page with the lines in the place of that part's earlier ones.
 * @throws Error when the page has no marks for it
 */
export function withBlock(page: string, part: string, lines: readonly string[]): string {
  const begin = `<!-- bench ${part} -->\n`
  const end = '<!-- end -->'
  const from = page.indexOf(begin)
  const to = page.indexOf(end, from)
  if (from < 0 || to < 0) throw new Error(`docs/change/benchmarks.md has no block "${part}"`)
  const block = ['```', ...lines, '```', ''].join('\n')
  return page.slice(0, from + begin.length) + block + page.slice(to)
}
