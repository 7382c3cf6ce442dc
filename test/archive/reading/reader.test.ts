import fc from 'fast-check'
import { afterEach, describe, expect, it } from 'vitest'
import { matcherFor } from '../../../src/archive/reading/matcher.ts'
import type { Reader } from '../../../src/archive/reading/reader.ts'
import { createReader } from '../../../src/archive/reading/reader.ts'
import { RecentEvents } from '../../../src/archive/reading/recent-events.ts'
import type { Archive } from '../../../src/archive/store/archive.ts'
import { decodeCursor } from '../../../src/core/cursor.ts'
import type { Committed } from '../../../src/core/event.ts'
import type { Facts } from '../../../src/core/filter/facts.ts'
import type { Filter } from '../../../src/core/filter/filter.ts'
import { matches } from '../../../src/core/filter/filter.ts'
import { someFacts, someFilter } from '../../core/filter/filter-samples.ts'
import {
  eventWith,
  inPlace,
  items,
  memoryArchive,
  never,
  plainFacts,
  readerOver,
  START_MS,
} from '../samples.ts'

const archives: Archive[] = []
afterEach(() => {
  for (const archive of archives.splice(0)) archive.close()
})

function archiveOf(events: readonly Committed[]): Archive {
  const archive = memoryArchive(events)
  archives.push(archive)
  return archive
}

function expectedSequences(events: readonly Committed[], filter: Filter | null, after = 0): number[] {
  return events
    .filter((event) => event.sequence > after && (filter === null || matches(filter, plainFacts(event))))
    .map((event) => event.sequence)
}

async function readAll(
  reader: Reader,
  filter: Filter | null,
  after: number,
  limit: number,
): Promise<number[]> {
  const sequences: number[] = []
  for (let position = after; ; ) {
    const result = await reader.read({ after: position, filter, limit, signal: never })
    expect(result.events.length).toBeLessThanOrEqual(limit)
    expect(result.position).toBeGreaterThan(position - 1)
    expect(decodeCursor(result.cursor).sequence).toBe(result.position)
    sequences.push(...result.events.map((event) => event.sequence))
    position = result.position
    if (!result.more) return sequences
  }
}

/** Every match before a sequence, the newest first, page by page from each page's own cursor. */
async function readAllBack(
  reader: Reader,
  filter: Filter | null,
  before: number,
  limit: number,
): Promise<number[]> {
  const sequences: number[] = []
  for (let from = before; ; ) {
    const result = await reader.readBack({ before: from, filter, limit, signal: never })
    expect(result.events.length).toBeLessThanOrEqual(limit)
    sequences.push(...result.events.map((event) => event.sequence))
    from = decodeCursor(result.cursor).sequence
    expect(from).toBe(result.position + 1)
    if (!result.more) return sequences
  }
}

const world = fc.array(someFacts, { minLength: 1, maxLength: 40 })
const eventsOf = (facts: Facts[]): Committed[] =>
  inPlace(facts.map((each, index) => eventWith(each, `guid-${index}`, START_MS + index)))

describe('a filtered read', () => {
  it('finds what the plain evaluator finds, forwards and backwards, from the archive, the recent-events buffer and across both', async () => {
    const cases = fc.record({
      facts: world,
      filter: someFilter,
      after: fc.nat(40),
      limit: fc.integer({ min: 1, max: 12 }),
      inTail: fc.nat(40),
    })
    await fc.assert(
      fc.asyncProperty(cases, async ({ facts, filter, after, limit, inTail }) => {
        const events = eventsOf(facts)
        const archive = memoryArchive(events)
        const start = Math.min(after, events.length)
        const { reader } = readerOver(archive, inTail)
        expect(await readAll(reader, filter, start, limit)).toEqual(expectedSequences(events, filter, start))
        const before = expectedSequences(events, filter).filter((sequence) => sequence <= start)
        expect(await readAllBack(reader, filter, start + 1, limit)).toEqual(before.reverse())
        archive.close()
      }),
      { numRuns: 150 },
    )
  })

  it('finds any part of any headline, whatever its characters', async () => {
    const headline = fc.string({ unit: 'binary', maxLength: 12 })
    const cases = fc.tuple(
      fc.array(headline, { minLength: 1, maxLength: 6 }),
      fc.nat(12),
      fc.nat(12),
      fc.nat(5),
    )
    await fc.assert(
      fc.asyncProperty(cases, async ([headlines, from, to, which]) => {
        const events = inPlace(headlines.map((text, index) => eventWith({ headline: text }, `g${index}`)))
        const source = plainFacts(events[which % events.length] ?? ({ ...events[0] } as Committed)).headline
        const q = source.slice(Math.min(from, to), Math.max(from, to))
        fc.pre(q.length >= 2)
        const archive = memoryArchive(events)
        expect(await readAll(readerOver(archive).reader, { q }, 0, 3)).toEqual(
          expectedSequences(events, { q }),
        )
        archive.close()
      }),
      { numRuns: 80 },
    )
  })

  it.each(['"', 'a"b', "it's", 'a*b OR c', 'NEAR(a b)', '(((', 'x\0y', '\ud83d', 'zz'])(
    'treats %j as text, not as a search expression',
    async (q) => {
      const events = inPlace([eventWith({ headline: `<${q}>` }, 'g'), eventWith({ headline: 'other' }, 'h')])
      const { reader } = readerOver(archiveOf(events))
      expect(await readAll(reader, { q }, 0, 10)).toEqual(expectedSequences(events, { q }))
    },
  )

  it('matches ten thousand identifiers exactly as the plain evaluator does', async () => {
    const isins = Array.from({ length: 10_000 }, (_, index) => `GB${String(index).padStart(10, '0')}`)
    const events = inPlace(
      [5, 20_000, 9999].map((n) =>
        eventWith({ issuer: { isin: `GB${String(n).padStart(10, '0')}` } }, `g${n}`),
      ),
    )
    const { reader } = readerOver(archiveOf(events))
    expect(await readAll(reader, { isins }, 0, 10)).toEqual([1, 3])
    expect(await readAll(reader, { exclude: { isins } }, 0, 10)).toEqual([2])
  })

  it.each<[string, Filter, number[]]>([
    [
      'filters of which one has no index',
      { filters: [{ isins: ['GB0007980591'] }, { hasSymbol: true }] },
      [1, 2, 4],
    ],
    ['filters over both indexes', { filters: [{ q: 'results' }, { fcaCategories: ['NAV'] }] }, [1, 3, 4]],
    [
      'a field of its own beside filters',
      { q: 'results', filters: [{ hasSymbol: false }, { q: 'inal' }] },
      [1, 4],
    ],
    ['an identifier in related', { isins: ['GB0007980591'], match: 'related' }, [1, 3, 4]],
    ['an exclusion alone', { exclude: { fcaCategories: ['FR'] } }, [2, 3, 4]],
    ['amended ones', { types: ['amended'] }, [2, 4]],
  ])('with %s leaves nothing out', async (_, filter, expected) => {
    const events = inPlace([
      eventWith({ headline: 'Final results', fca: ['FR'], issuer: { isin: 'GB0007980591' } }, 'a'),
      eventWith({ kind: 'amended', headline: 'Offer', issuer: { symbol: 'VOD' } }, 'b'),
      eventWith({ headline: 'Value', fca: ['NAV'], related: [{ isin: 'GB0007980591' }] }, 'c'),
      eventWith({ kind: 'gap' }, 'd'),
    ])
    expect(expectedSequences(events, filter)).toEqual(expected)
    expect(await readAll(readerOver(archiveOf(events)).reader, filter, 0, 10)).toEqual(expected)
  })

  it('is the same whether lists are long or short', () => {
    const long = Array.from({ length: 40 }, (_, index) => `XX${index}`)
    const stretched = (filter: Filter): Filter => ({
      ...filter,
      ...(filter.isins === undefined ? {} : { isins: [...filter.isins, ...long] }),
      ...(filter.exclude === undefined
        ? {}
        : { exclude: { ...filter.exclude, symbols: [...(filter.exclude.symbols ?? []), ...long] } }),
      ...(filter.filters === undefined
        ? {}
        : {
            filters: filter.filters.map((member) => ({ ...member, leis: [...(member.leis ?? []), ...long] })),
          }),
    })
    fc.assert(
      fc.property(someFilter, someFacts, (filter, facts) => {
        const wide = stretched(filter)
        expect(matcherFor(wide)(facts)).toBe(matches(wide, facts))
      }),
      { numRuns: 1000 },
    )
  })
})

describe('a read', () => {
  it('returns the same bytes from the recent-events buffer as from the archive', async () => {
    const archive = archiveOf(inPlace(items(50)))
    const request = { after: 10, filter: null, limit: 30, signal: never }
    const cold = await readerOver(archive).reader.read(request)
    const hot = await readerOver(archive, 45).reader.read(request)
    expect(hot.events.map((event) => event.json.toString())).toEqual(
      cold.events.map((event) => event.json.toString()),
    )
    expect([hot.position, hot.cursor, hot.more]).toEqual([cold.position, cold.cursor, cold.more])
  })

  it('returns the position where it stopped when nothing matched', async () => {
    const { reader } = readerOver(archiveOf(inPlace(items(20))))
    const result = await reader.read({ after: 3, filter: { q: 'zz' }, limit: 5, signal: never })
    expect(result).toMatchObject({ events: [], position: 20, more: false })
    expect(result.cursor).toBe(reader.cursorAt(20))
  })

  it('from a position ahead of the log returns nothing and keeps the position', async () => {
    const { reader } = readerOver(archiveOf(inPlace(items(3))))
    const result = await reader.read({ after: 9, filter: null, limit: 5, signal: never })
    expect(result).toMatchObject({ events: [], position: 9, more: false })
  })

  it('stops at once at its position when its signal has aborted', async () => {
    const { reader } = readerOver(archiveOf(inPlace(items(3))))
    const result = await reader.read({ after: 1, filter: null, limit: 5, signal: AbortSignal.abort() })
    expect(result).toMatchObject({ events: [], position: 1, more: true })
  })

  it('yields to the event loop when there is nothing to read, because its caller may retry at once', async () => {
    const { reader } = readerOver(archiveOf(inPlace(items(3))))
    let hasTurned = false
    setImmediate(() => {
      hasTurned = true
    })
    await reader.read({ after: 3, filter: null, limit: 5, signal: never })
    expect(hasTurned).toBe(true)
  })

  it('returns within its time budget, and the next read continues from its position', async () => {
    const archive = archiveOf(inPlace(items(100)))
    let nowMs = 0
    const ticking = { now: () => (nowMs += 5), after: () => () => undefined }
    const reader = createReader(archive, new RecentEvents(archive.latest), ticking)
    const request = { filter: { q: 'zz' }, limit: 10, signal: never, budgetMs: 1 }
    const first = await reader.read({ after: 0, ...request })
    expect(first.more).toBe(true)
    expect(first.position).toBeGreaterThan(0)
    expect(first.position).toBeLessThan(100)
    expect((await reader.read({ after: first.position, ...request })).position).toBeGreaterThan(
      first.position,
    )
  })

  it('yields to the event loop between the time slices of a long search', async () => {
    const archive = archiveOf(inPlace(items(100)))
    let nowMs = 0
    const ticking = { now: () => (nowMs += 5), after: () => () => undefined }
    const reader = createReader(archive, new RecentEvents(archive.latest), ticking)
    let turns = 0
    let searching = true
    const count = (): void => {
      turns += 1
      if (searching) setImmediate(count)
    }
    setImmediate(count)
    await reader.read({ after: 0, filter: { q: 'zz' }, limit: 10, signal: never })
    searching = false
    expect(turns).toBeGreaterThan(10)
  })

  it('never returns an event that is on disk but not yet in the recent-events buffer', async () => {
    const archive = archiveOf(inPlace(items(5)))
    const reader = createReader(archive, new RecentEvents(3), { now: () => 0, after: () => () => undefined })
    const result = await reader.read({ after: 0, filter: null, limit: 10, signal: never })
    expect(result.events.map((event) => event.sequence)).toEqual([1, 2, 3])
    expect(reader.latest).toBe(3)
    expect(reader.sequenceSince(START_MS + 4000)).toBe(3)
  })
})

describe('the position before the last events', () => {
  it('is followed by exactly that many matches, or by all if there are fewer', async () => {
    const cases = fc.record({
      facts: world,
      filter: fc.option(someFilter),
      count: fc.integer({ min: 1, max: 9 }),
    })
    await fc.assert(
      fc.asyncProperty(cases, async ({ facts, filter, count }) => {
        const events = eventsOf(facts)
        const archive = memoryArchive(events)
        const { reader } = readerOver(archive)
        const position = await reader.beforeLast(filter, count, never)
        const all = expectedSequences(events, filter)
        expect(await readAll(reader, filter, position, 50)).toEqual(all.slice(-count))
        archive.close()
      }),
      { numRuns: 200 },
    )
  })
})
