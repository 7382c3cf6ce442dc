/**
 * Measures the embedded store with 500,000 events: append, replay, queries, opening. `node bench/archive.ts [events]`
 * runs it alone. The goals are those of ADR 0002.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Reader } from '../src/archive/reading/reader.ts'
import { createReader } from '../src/archive/reading/reader.ts'
import { RecentEvents } from '../src/archive/reading/recent-events.ts'
import type { Archive } from '../src/archive/store/archive.ts'
import { openArchive } from '../src/archive/store/archive.ts'
import type { Committed } from '../src/core/event.ts'
import { encodeAttributes } from '../src/core/event.ts'
import type { Filter } from '../src/core/filter/filter.ts'
import { systemClock } from '../src/lifecycle/clock.ts'
import { openDatabase } from '../src/storage/database.ts'
import { type Figure, formatFigure } from './figures.ts'
import { syntheticEvents, syntheticIsin } from './support/synthetic-events.ts'
import { type Timing, timed, timingFigures } from './support/timed.ts'

const HELD = 500_000
const BATCH = 1000
/** Events of one measured append or replay. */
const RUN_EVENTS = 20_000
const REPLAY_EVENTS = 100_000
const RUNS = 5

/** A store on disk, and where its next events come from. */
export interface BenchStore {
  folder: string
  archive: Archive
  /** Events it was filled with. */
  held: number
  next: (count: number) => Committed[]
}

/** A store that holds `held` events. The caller closes the archive and removes the folder. */
export function fillStore(held: number = HELD): BenchStore {
  const folder = mkdtempSync(join(tmpdir(), 'bridge-bench-'))
  const archive = openArchive({ path: join(folder, 'bridge.db'), nativeKind: 'Native', durable: true })
  const next = syntheticEvents(1)
  for (let done = 0; done < held; done += BATCH) archive.append(next(BATCH))
  return { folder, archive, held, next }
}

/** Events a second into the filled store with all its indexes, against bare inserts into a table without one. */
export async function benchAppend(store: BenchStore): Promise<Figure[]> {
  const bare = bareTable(join(store.folder, 'bare.db'))
  const rate = async (batches: Committed[][], append: (batch: Committed[]) => void): Promise<number> => {
    const { tookMs } = await timed(() => batches.forEach(append))
    return (RUN_EVENTS / tookMs) * 1000
  }
  const values: number[] = []
  const bareValues: number[] = []
  for (let run = 0; run < RUNS; run++) {
    const batches = Array.from({ length: RUN_EVENTS / BATCH }, () => store.next(BATCH))
    bareValues.push(await rate(batches, bare.append))
    values.push(await rate(batches, store.archive.append))
  }
  bare.close()
  const name = `archive append, ${store.held} events held`
  const baselines = [{ name: 'bare inserts', values: bareValues }]
  return [{ name, unit: 'events/s', values, goal: { atLeast: 10_000 }, baselines }]
}

/** Events a second to a reader in this process, unfiltered, from the disk; against a bare SELECT of one column. */
export async function benchReplay(store: BenchStore): Promise<Figure[]> {
  const reader = coldReader(store.archive)
  const count = Math.min(REPLAY_EVENTS, store.archive.latest)
  const values: number[] = []
  const bareValues: number[] = []
  for (let run = 0; run < RUNS; run++) {
    bareValues.push((count / (await timed(() => selectData(store.archive, count))).tookMs) * 1000)
    values.push((count / (await timed(() => readUpTo(reader, null, count, 500))).tookMs) * 1000)
  }
  const baselines = [{ name: 'bare SELECT data', values: bareValues }]
  return [{ name: 'archive replay', unit: 'events/s', values, goal: { atLeast: 100_000 }, baselines }]
}

const queries: readonly (readonly [string, Filter])[] = [
  ['q of 2 characters, no match', { q: 'zq' }],
  ['q of 4 characters, no match', { q: 'zqxj' }],
  ['q that an eighth matches', { q: 'dividend' }],
  ['one ISIN', { isins: [syntheticIsin(5)] }],
  ['10,000 ISINs, no match', { isins: Array.from({ length: 10_000 }, (_, n) => syntheticIsin(5000 + n)) }],
  ['10,000 ISINs, all match', { isins: Array.from({ length: 10_000 }, (_, n) => syntheticIsin(n)) }],
  [
    'two broad categories, none in both',
    { nativeCategories: ['RE'], filters: [{ nativeCategories: ['DD'] }] },
  ],
  [
    'two broad fields without an index, none in both',
    { importance: ['low'], exclude: { importance: ['low'] } },
  ],
]

/** For each query over the whole store: its time, and its longest block of the event loop. */
export async function benchQueries(store: BenchStore): Promise<Figure[]> {
  const figures: Figure[] = []
  for (const [name, filter] of queries) {
    const reader = coldReader(store.archive)
    const runs: Timing[] = []
    for (let run = 0; run < RUNS; run++) {
      runs.push(await timed(() => readUpTo(reader, filter, store.archive.latest, 1000)))
    }
    figures.push(...timingFigures(`query, ${name}`, runs))
  }
  return figures
}

/** Milliseconds to open the filled store and know its ends. */
export async function benchOpen(store: BenchStore): Promise<Figure[]> {
  const path = join(store.folder, 'bridge.db')
  const values: number[] = []
  for (let run = 0; run < RUNS; run++) {
    const { tookMs } = await timed(() => openArchive({ path, nativeKind: 'Native', durable: true }).close())
    values.push(tookMs)
  }
  return [{ name: 'archive open', unit: 'ms', values }]
}

/** Every figure of the archive over one store, which is removed afterwards. */
export async function benchArchive(held: number = HELD): Promise<Figure[]> {
  const store = fillStore(held)
  try {
    return [
      ...(await benchOpen(store)),
      ...(await benchReplay(store)),
      ...(await benchQueries(store)),
      ...(await benchAppend(store)),
    ]
  } finally {
    store.archive.close()
    rmSync(store.folder, { recursive: true, force: true })
  }
}

/** A reader whose recent-events buffer is empty, so that everything comes from the archive. */
export function coldReader(archive: Archive): Reader {
  return createReader(archive, new RecentEvents(archive.latest), systemClock)
}

async function readUpTo(
  reader: Reader,
  filter: Filter | null,
  through: number,
  limit: number,
): Promise<void> {
  const { signal } = new AbortController()
  for (let after = 0; after < through; ) {
    after = (await reader.read({ after, filter, limit, signal })).position
  }
}

function selectData(archive: Archive, count: number): void {
  const select = archive.db.prepare('SELECT data FROM events WHERE sequence > ? AND sequence <= ?')
  for (let after = 0; after < count; after += 500) select.all(after, Math.min(count, after + 500))
}

function bareTable(path: string) {
  const db = openDatabase({ path, durable: true })
  db.exec('CREATE TABLE bare(sequence INTEGER PRIMARY KEY, attributes TEXT, data TEXT)')
  const insert = db.prepare('INSERT INTO bare VALUES (?, ?, ?)')
  return {
    append: (batch: Committed[]): void =>
      db.transaction(() => {
        for (const event of batch) insert.run(event.sequence, encodeAttributes(event), event.data)
      }),
    close: () => db.close(),
  }
}

if (import.meta.main) {
  const held = Number(process.argv[2] ?? HELD)
  for (const figure of await benchArchive(held)) process.stdout.write(`${formatFigure(figure)}\n`)
}
