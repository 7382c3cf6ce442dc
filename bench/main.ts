/**
 * Runs the benchmarks and prints each figure with its goal and its baseline: `npm run bench -- [part] [runs]
 * [--write]`. `--write` also writes the output to `docs/change/benchmarks.md`.
 */
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { benchAppend, benchQueries, benchReplay, fillStore } from './archive.ts'
import { failoverTable } from './failover.ts'
import { feedLines } from './feed.ts'
import { type Figure, formatFigure } from './figures.ts'
import { idleFigures } from './idle.ts'
import { ingestTable } from './ingest.ts'
import { itemFigures } from './items.ts'
import { kafkaLogLines } from './kafka-log.ts'
import { benchMirror } from './mirror.ts'
import { pollingTable } from './polling.ts'
import { demoFigures, startFigures } from './process.ts'
import { rebuildFigures } from './rebuild.ts'
import { machineLine, watchHost, withBlock } from './support/benchmarks-page.ts'
import { tailFigures } from './tail.ts'
import { classifierTable } from './throttle-classifier.ts'
import { webhookLines } from './webhooks.ts'

/** The embedded store with 500,000 events in it. */
async function storeFigures(): Promise<Figure[]> {
  const store = fillStore()
  try {
    return [
      ...(await benchReplay(store)),
      ...(await benchQueries(store)),
      ...(await benchMirror(store)),
      ...(await benchAppend(store)),
    ]
  } finally {
    store.archive.close()
    rmSync(store.folder, { recursive: true, force: true })
  }
}

const lines = (figures: readonly Figure[]): string[] => figures.map(formatFigure)
/** Each gives the lines to print. */
const parts: Record<string, (runs?: number) => Promise<string[]>> = {
  store: async () => lines(await storeFigures()),
  kafka: kafkaLogLines,
  process: async () => lines([...(await startFigures()), ...(await demoFigures())]),
  failover: failoverTable,
  ingest: ingestTable,
  classifier: classifierTable,
  polling: () => pollingTable(flags.trace, weeks),
  rebuild: async () => lines(await rebuildFigures()),
  items: async (runs) => lines(await itemFigures(runs)),
  idle: async (runs) => lines(await idleFigures(runs)),
  tail: async (runs) => lines(await tailFigures(runs)),
  webhooks: webhookLines,
  feed: feedLines,
}

const { values: flags, positionals } = parseArgs({
  options: {
    write: { type: 'boolean', default: false },
    trace: { type: 'string' },
    weeks: { type: 'string' },
  },
  allowPositionals: true,
})
const [wanted = 'all', runsGiven] = positionals
const runs = runsGiven === undefined ? undefined : Number(runsGiven)
const weeks = flags.weeks === undefined ? undefined : Number(flags.weeks)
const page = join(import.meta.dirname, '../docs/change/benchmarks.md')
const chosen = wanted === 'all' ? Object.keys(parts) : [wanted]
for (const name of chosen) {
  const part = parts[name]
  if (part === undefined || (runs !== undefined && !(Number.isInteger(runs) && runs > 0))) {
    const known = [...Object.keys(parts), 'all'].join(', ')
    process.stderr.write(
      `usage: npm run bench -- [part] [runs] [--write]; parts: ${known}; runs: a number from 1 on\n`,
    )
    process.exitCode = 2
    break
  }
  // Fails before the work, which takes minutes, if the page has no block for a part.
  if (flags.write) withBlock(readFileSync(page, 'utf8'), name, [])
  const [machine, hostTook] = [machineLine(), watchHost()]
  const figures = await part(runs)
  const printed = [machine, ...hostTook(), ...figures]
  process.stdout.write(`${printed.join('\n')}\n\n`)
  if (flags.write) writeFileSync(page, withBlock(readFileSync(page, 'utf8'), name, printed))
}
