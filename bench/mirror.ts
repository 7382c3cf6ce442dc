/**
 * Measures lists of the upstream API (`/v2`) over a large store: time, and the longest block of the event loop. It
 * calls the archive directly, without HTTP.
 */
import type { ItemStore } from '../src/api/mirror/item-store.ts'
import { archiveItemStore } from '../src/api/routes/replica-items.ts'
import { archiveItems } from '../src/archive/items/items.ts'
import { EVERYTHING, type Selection } from '../src/core/filter/selection.ts'
import { systemClock } from '../src/lifecycle/clock.ts'
import type { BenchStore } from './archive.ts'
import type { Figure } from './figures.ts'
import { syntheticIsin } from './support/synthetic-events.ts'
import { type Stopwatch, type Timing, timed, timingFigures } from './support/timed.ts'

const RUNS = 5
const PAGE = 200

/** Pages between two pages of one list that are read one after the other. */
const STRIDE = 37

/** Makes a page of a list; `turn`: how many pages of it were made before. */
type List = (store: ItemStore, gone: AbortSignal, turn: number) => unknown

/** The first page of a selection. */
function first(part: Partial<Selection>): List {
  return (store, gone) => store.pageBefore({ ...EVERYTHING, ...part }, null, PAGE, gone)
}

/** A page of a selection far from its newest item, with the total; another page each turn. */
function numbered(part: Partial<Selection>, offset: number): List {
  return (store, gone, turn) =>
    store.pageAt({ ...EVERYTHING, ...part }, offset + turn * STRIDE * PAGE, PAGE, gone)
}

const lists: Record<string, List> = {
  'EVERYTHING, first page': first({}),
  'one ISIN, widened': first({ isins: [syntheticIsin(5)] }),
  'one ISIN, related': first({ isins: [syntheticIsin(5)], match: 'related' }),
  '200 ISINs, unknown': first({ isins: Array.from({ length: 200 }, (_, n) => syntheticIsin(5000 + n)) }),
  'q of 4 characters, no match': first({ q: 'zqxj' }),
  'q of 2 characters, no match': first({ q: 'zq' }),
  'a range before EVERYTHING': first({ toMs: 0 }),
  'EVERYTHING, page 2,000 with totals': numbered({}, 2000 * PAGE),
  'q that an eighth matches, page 200 with totals': numbered({ q: 'dividend' }, 200 * PAGE),
  'hasSymbol, page 1,000 with totals': numbered({ hasSymbol: true }, 1000 * PAGE),
}

/** How a bench of the lists runs. */
interface MirrorRuns {
  /** First pages of each list, each without anything that was counted before. */
  runs?: number
  /** Pages of each list after that, with what the first one has counted. */
  later?: number
  now?: Stopwatch
}

/** For each list: how long it takes, and how long it holds the event loop at most, by `now`. */
export async function benchMirror(
  { archive }: Pick<BenchStore, 'archive'>,
  { runs = RUNS, later = 0, now }: MirrorRuns = {},
): Promise<Figure[]> {
  const { signal } = new AbortController()
  const figures: Figure[] = []
  for (const [name, list] of Object.entries(lists)) {
    let store = archiveItemStore(archiveItems(archive, systemClock))
    const page = (turn: number) => timed(async () => void (await list(store, signal, turn)), now)
    const timings: Timing[] = []
    for (let run = 0; run < runs; run++) {
      store = archiveItemStore(archiveItems(archive, systemClock))
      timings.push(await page(0))
    }
    figures.push(...timingFigures(`/v2, ${name}`, timings))
    const pages: Timing[] = []
    for (let turn = 1; turn <= later; turn++) pages.push(await page(turn))
    if (later > 0) figures.push(...timingFigures('  later pages of it', pages))
  }
  return figures
}
