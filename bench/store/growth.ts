/**
 * Measures a store of many years: `node bench/store/growth.ts FOLDER [events]` fills FOLDER/bridge.db up to that many
 * synthetic events (ten million by default, 18 GB) and prints what opening, searching, pruning and listing cost then, in
 * processor time of the thread.
 */
import { statSync } from 'node:fs'
import { join } from 'node:path'
import type { Reader } from '../../src/archive/reading/reader.ts'
import { type Archive, openArchive } from '../../src/archive/store/archive.ts'
import { termsOf } from '../../src/archive/store/index-terms.ts'
import { readFacts } from '../../src/archive/store/stored.ts'
import { seededChance } from '../../src/core/chance.ts'
import type { Filter } from '../../src/core/filter/filter.ts'
import type { Database } from '../../src/storage/database.ts'
import { coldReader } from '../archive.ts'
import { type Figure, quantile } from '../figures.ts'
import { benchMirror } from '../mirror.ts'
import { syntheticEvents, syntheticIsin } from '../support/synthetic-events.ts'
import { processorMs, type Timing, timed, timingFigures } from '../support/timed.ts'

const EVENTS = 10_000_000
const MADE = 500_000
const BATCH = 1000
const COPIED_AT_ONCE = 10_000
/** Reads of each search, each from another place. */
const READS = 200
const PAGE = 100
/** Pages of each list of `/v2` after the first. */
const LATER_PAGES = 50
/** As the pruner does. */
const PRUNED_AT_ONCE = 100
const PRUNES = 200

const searches: Readonly<Record<string, Filter>> = {
  'one ISIN': { isins: [syntheticIsin(5)] },
  'a word of every seventh headline': { q: 'company' },
  'three letters of two headlines in five': { q: 'tra' },
  'three words of every seventh headline, together rare': { q: 'results trading interim' },
  'a category of every eleventh event, and one of every sixtieth': {
    nativeCategories: ['RE'],
    fcaCategories: ['B4'],
  },
  'a word that no headline has': { q: 'zqxj' },
}

/** Opens the store and fills it up to `events`: half a million are made, all others are copies of them at later times. */
function filled(path: string, events: number): Archive {
  const archive = openArchive({ path, nativeKind: 'Native', durable: false })
  const next = syntheticEvents(1)
  while (archive.latest < Math.min(events, MADE)) archive.append(next(BATCH))
  if (archive.latest === events) return archive
  const { db } = archive
  db.exec('CREATE TEMP TABLE words(sequence INTEGER PRIMARY KEY, terms TEXT, headline TEXT)')
  db.transaction(() => {
    const insert = db.prepare('INSERT INTO words VALUES (?, ?, ?)')
    const facts = db.prepare<{ sequence: number; facts: string }>(
      'SELECT sequence, facts FROM facts WHERE sequence <= ?',
    )
    for (const row of facts.iterate(MADE)) {
      const stored = readFacts(row.facts)
      insert.run(row.sequence, termsOf(stored), stored.headline)
    }
  })
  const span = db.prepare<{ ms: number }>(
    'SELECT max(time_ms) - min(time_ms) AS ms FROM facts WHERE sequence <= ?',
  )
  const spanMs = span.get(MADE)?.ms ?? 0
  for (let latest = archive.latest; latest < events; ) {
    const [copy, from] = [Math.floor(latest / MADE), latest % MADE]
    const through = Math.min(from + COPIED_AT_ONCE, MADE)
    db.transaction(() => copyEvents(db, { from, through, copy, laterMs: spanMs * copy }))
    latest += through - from
    if (latest % MADE === 0) process.stderr.write(`${latest} events\n`)
  }
  archive.close()
  return openArchive({ path, nativeKind: 'Native', durable: false })
}

/** What is copied, and where to. */
interface Copy {
  from: number
  through: number
  copy: number
  laterMs: number
}

/** Copies a part of the first events: other sequences, times and guids, the same words. */
function copyEvents(db: Database, { from, through, copy, laterMs }: Copy): void {
  const values = {
    offset: copy * MADE,
    later: laterMs,
    copy,
    part: `sequence > ${from} AND sequence <= ${through}`,
  }
  for (const sql of COPIES) {
    db.exec(sql.replaceAll(/:(offset|later|copy|part)/g, (_, name: keyof typeof values) => `${values[name]}`))
  }
}

const COPIES = [
  'INSERT INTO events(sequence, attributes, data) SELECT sequence + :offset, attributes, data FROM events WHERE :part',
  `INSERT INTO facts SELECT sequence + :offset, time_ms + :later, recorded_ms + :later, type, guid || '-:copy', revision,
   hash, date_id || '-:copy', facts FROM facts WHERE :part`,
  'INSERT INTO items SELECT sequence + :offset, time_ms + :later, NULL FROM items WHERE :part',
  'INSERT OR IGNORE INTO highs SELECT time_ms + :later, sequence + :offset FROM facts WHERE :part',
  'INSERT INTO terms(rowid, words) SELECT sequence + :offset, terms FROM words WHERE :part',
  'INSERT INTO headlines(rowid, headline) SELECT sequence + :offset, headline FROM words WHERE :part',
]

/** Each search for a page from places all over the store: how long it takes, and how long it holds the event loop. */
async function searchFigures(archive: Archive): Promise<Figure[]> {
  const figures: Figure[] = []
  for (const [name, filter] of Object.entries(searches)) {
    const chance = seededChance(1)
    const timings: Timing[] = []
    for (let read = 0; read < READS; read++) {
      const after = chance.between(0, archive.latest - 1)
      // A reader of its own, so that nothing is left from the read before.
      const reader = coldReader(archive)
      timings.push(await timed(() => readPage(reader, { ...filter }, after), processorMs))
    }
    figures.push(...timingFigures(`a page: ${name}`, timings))
  }
  return figures
}

function readPage(reader: Reader, filter: Filter, after: number): Promise<unknown> {
  return reader.read({ after, filter, limit: PAGE, signal: new AbortController().signal })
}

function openFigures(path: string): Figure[] {
  const values = Array.from({ length: 5 }, () => {
    const startMs = performance.now()
    openArchive({ path, nativeKind: 'Native', durable: false }).close()
    return performance.now() - startMs
  })
  return [{ name: 'opening', unit: 'ms', values }]
}

/** The oldest events go, slice by slice. */
function pruneFigures(archive: Archive): Figure[] {
  const values = Array.from({ length: PRUNES }, () => {
    const startMs = processorMs()
    archive.prune(archive.oldest + PRUNED_AT_ONCE, PRUNED_AT_ONCE)
    return processorMs() - startMs
  })
  return [{ name: `pruning ${PRUNED_AT_ONCE} events`, unit: 'ms', values, goal: { atMost: 50 } }]
}

/** One line a figure: the median, the 99th of a hundred, and the worst. */
function lineOf({ name, unit, values }: Figure): string {
  const [p50, p99, worst] = [0.5, 0.99, 1].map((share) => quantile(values, share).toFixed(1).padStart(8))
  return `${name.padEnd(66)} p50 ${p50}  p99 ${p99}  max ${worst} ${unit}`
}

async function* figuresOf(folder: string, events: number): AsyncGenerator<string> {
  const path = join(folder, 'bridge.db')
  const archive = filled(path, events)
  yield `${archive.latest} events, ${(statSync(path).size / 2 ** 30).toFixed(1)} GiB`
  yield* openFigures(path).map(lineOf)
  yield* (await searchFigures(archive)).map(lineOf)
  yield* pruneFigures(archive).map(lineOf)
  yield* (await benchMirror({ archive }, { runs: 1, later: LATER_PAGES, now: processorMs })).map(lineOf)
  yield `resident memory ${(process.memoryUsage().rss / 2 ** 20).toFixed(0)} MiB`
  archive.close()
}

const [folder, count = String(EVENTS)] = process.argv.slice(2)
if (folder === undefined) throw new Error('usage: node bench/store/growth.ts FOLDER [events]')
for await (const line of figuresOf(folder, Number(count))) process.stdout.write(`${line}\n`)
