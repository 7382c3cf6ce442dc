/**
 * The figures on `docs/benchmarks.md`: one block a part, between marks, as the bench has printed it. Owns marks and the
 * line about the machine. Refuses to touch what people have written around the blocks.
 */
import { cpus, loadavg } from 'node:os'
import { isoSeconds } from '../../src/core/dates.ts'
import { systemClock } from '../../src/lifecycle/clock.ts'

/** Of one core; above it the machine was doing something else before the bench began. */
const BUSY_LOAD = 0.3

/** When, on what, and how busy that was; to be asked before the bench begins. */
export function machineLine(): string {
  const [load = 0] = loadavg()
  const all = cpus()
  const machine = `${all.length} × ${all[0]?.model.trim() ?? 'unknown CPU'}`
  const busy = `${load > BUSY_LOAD ? 'BUSY' : 'quiet'} machine (load ${load.toFixed(1)} before)`
  return `${isoSeconds(systemClock.now())}, ${machine}, Node ${process.versions.node}, ${busy}`
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
  if (from < 0 || to < 0) throw new Error(`docs/benchmarks.md has no block "${part}"`)
  const block = ['```', ...lines, '```', ''].join('\n')
  return page.slice(0, from + begin.length) + block + page.slice(to)
}
