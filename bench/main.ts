/**
 * `npm run bench`: every figure of the issue with its goal, and a baseline from the same run where there is one.
 * `npm run bench -- store`, `-- kafka`, `-- failover [runs]`, `-- process`, `-- ingest` or `-- rebuild` runs a part. Owns the
 * choice of parts.
 */
import { rmSync } from 'node:fs'
import { benchAppend, benchQueries, benchReplay, fillStore } from './archive.ts'
import { failoverTable } from './failover.ts'
import { type Figure, formatFigure } from './figures.ts'
import { ingestTable } from './ingest.ts'
import { kafkaLogFigures } from './kafka-log.ts'
import { benchMirror } from './mirror.ts'
import { demoFigures, startFigures } from './process.ts'
import { rebuildFigures } from './rebuild.ts'

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
  kafka: async () => lines(await kafkaLogFigures()),
  process: async () => lines([...(await startFigures()), ...(await demoFigures())]),
  failover: failoverTable,
  ingest: ingestTable,
  rebuild: async () => lines(await rebuildFigures()),
}

const [wanted = 'all', runsGiven] = process.argv.slice(2)
const runs = runsGiven === undefined ? undefined : Number(runsGiven)
const chosen = wanted === 'all' ? Object.keys(parts) : [wanted]
for (const name of chosen) {
  const part = parts[name]
  if (part === undefined || (runs !== undefined && !(Number.isInteger(runs) && runs > 0))) {
    const known = [...Object.keys(parts), 'all'].join(', ')
    process.stderr.write(`usage: npm run bench -- [part] [runs]; parts: ${known}; runs: a number from 1 on\n`)
    process.exitCode = 2
    break
  }
  for (const line of await part(runs)) process.stdout.write(`${line}\n`)
}
