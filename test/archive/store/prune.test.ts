import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Archive } from '../../../src/archive/store/archive.ts'
import { publishersUnder } from '../../../src/archive/store/record.ts'
import type { Committed, NewEvent } from '../../../src/core/event.ts'
import type { Database } from '../../../src/storage/database.ts'
import { eventWith, gapAt, inPlace, items, memoryArchive, START_MS } from '../samples.ts'

const COMPANIES = [{ isin: 'GB00BH4HKS39' }, { symbol: 'VOD', lei: '213800TB53ELEUKM7Q61' }, {}]
const HEADLINES = ['', 'Alpha results', 'Beta holding']

/** Items of few companies, back-dated and amended ones among them, and gaps. */
const anyEvent: fc.Arbitrary<NewEvent> = fc
  .record({
    guid: fc.constantFrom('a', 'b', 'c', 'd', 'e'),
    seconds: fc.integer({ min: 0, max: 9 }),
    issuer: fc.constantFrom(...COMPANIES),
    headline: fc.constantFrom(...HEADLINES),
    kind: fc.constantFrom('published' as const, 'amended' as const, 'gap' as const),
  })
  .map(({ guid, seconds, ...facts }) =>
    facts.kind === 'gap'
      ? gapAt(guid, START_MS + seconds * 1000)
      : eventWith({ ...facts, fca: ['FR'] }, guid, START_MS + seconds * 1000),
  )

/** Everything that is stored, and what the indexes find. */
function contents({ db, oldest, latest, epoch }: Archive): unknown {
  const rows = (table: string) => db.prepare(`SELECT * FROM ${table}`).all()
  return {
    ...Object.fromEntries(['events', 'facts', 'items', 'issuers', 'highs'].map((name) => [name, rows(name)])),
    indexes: [...wordsOf(db, 'terms'), ...wordsOf(db, 'headlines')],
    ends: [oldest, latest, epoch],
  }
}

/** Each word of an index with the events under it. */
function wordsOf(db: Database, index: string): unknown[] {
  db.exec(`CREATE VIRTUAL TABLE temp.${index}_words USING fts5vocab('main', '${index}', 'instance')`)
  const words = db.prepare(`SELECT term, doc FROM temp.${index}_words ORDER BY term, doc`).all()
  db.exec(`DROP TABLE temp.${index}_words`)
  return words
}

function pruneAll(archive: Archive, sequence: number, limit = 3): number {
  let sum = 0
  for (let count = archive.prune(sequence, limit); count > 0; count = archive.prune(sequence, limit))
    sum += count
  return sum
}

describe('a store that prunes its oldest events', () => {
  it('equals a store that started with the first event it keeps', () => {
    fc.assert(
      fc.property(fc.array(anyEvent, { minLength: 2, maxLength: 30 }), fc.nat(), (events, cut) => {
        const all = inPlace(events, 11)
        const first = 11 + (cut % all.length)
        const pruned = memoryArchive(all)
        expect(pruneAll(pruned, first)).toBe(first - 11)
        const fresh = memoryArchive(all.filter(({ sequence }) => sequence >= first))
        expect(contents(pruned)).toEqual(contents(fresh))
        const next = inPlace([eventWith({ headline: 'Next' }, 'n', START_MS + 4500)], 11 + all.length)
        for (const archive of [pruned, fresh]) archive.append(next)
        expect(contents(pruned)).toEqual(contents(fresh))
        expect([0, 3, 5, 9].map((s) => pruned.sequenceSince(START_MS + s * 1000))).toEqual(
          [0, 3, 5, 9].map((s) => fresh.sequenceSince(START_MS + s * 1000)),
        )
        for (const archive of [pruned, fresh]) archive.close()
      }),
      { numRuns: 60 },
    )
  })

  it('finds the lowest sequence at or after a time, even when event times are out of order', () => {
    const late = (n: number, seconds: number): NewEvent => eventWith({}, `g${n}`, START_MS + seconds * 1000)
    const archive = memoryArchive(inPlace([late(1, 100), late(2, 20), late(3, 30), late(4, 200)]))
    pruneAll(archive, 2)
    expect(archive.sequenceSince(START_MS + 10_000)).toBe(1)
    expect(archive.sequenceSince(START_MS + 25_000)).toBe(2)
  })

  it('never prunes its newest event, which marks its end', () => {
    const archive = memoryArchive(inPlace(items(5)))
    expect(pruneAll(archive, Number.MAX_SAFE_INTEGER)).toBe(4)
    expect([archive.oldest, archive.latest, archive.committed(0, 9).length]).toEqual([5, 5, 1])
    const empty = memoryArchive()
    expect([empty.prune(5, 10), empty.latest, empty.oldestRecordedMs()]).toEqual([0, 0, null])
  })

  it('drops companies whose events were all pruned', () => {
    const events: Committed[] = inPlace([
      eventWith({ issuer: { isin: 'GB00BH4HKS39' } }, 'a'),
      eventWith({ issuer: { isin: 'GB0002634946' } }, 'b'),
      eventWith({ issuer: { isin: 'GB00BH4HKS39' } }, 'c'),
    ])
    const archive = memoryArchive(events)
    pruneAll(archive, 3)
    expect(publishersUnder(archive.db, 'isin', 'GB00BH4HKS39')).toHaveLength(1)
    expect(publishersUnder(archive.db, 'isin', 'GB0002634946')).toEqual([])
  })
})
