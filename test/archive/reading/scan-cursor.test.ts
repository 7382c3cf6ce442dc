import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { countCode } from '../../../src/archive/reading/directory-entries.ts'
import type { Direction } from '../../../src/archive/reading/scan-cursor.ts'
import { createScanCursor, nextCandidates } from '../../../src/archive/reading/scan-cursor.ts'
import { openArchive } from '../../../src/archive/store/archive.ts'
import { codeTerm, indexPredicate } from '../../../src/archive/store/index-terms.ts'
import type { Filter } from '../../../src/core/filter/filter.ts'
import { temporaryDirectory } from '../../support/bridge-process.ts'
import { eventWith, inPlace, memoryArchive } from '../samples.ts'

const COMMON = codeTerm('fca', 'FR')

/**
 * An index of events that all have one category code, as one segment. Of its pages, which are numbered from 1 on, only the
 * first two and the last two are left: reading another one fails.
 */
function writeIndexOfOneCode(path: string, events: number): void {
  const archive = openArchive({ path, nativeKind: 'Native', durable: false })
  archive.db.transaction(() => {
    const insert = archive.db.prepare('INSERT INTO terms(rowid, words) VALUES (?, ?)')
    for (let sequence = 1; sequence <= events; sequence++) insert.run(sequence, COMMON.replaceAll('"', ''))
  })
  archive.db.exec("INSERT INTO terms(terms) VALUES('optimize')")
  archive.close()
  // SQLite protects the tables behind an index, unless `defensive` is off.
  const raw = new DatabaseSync(path, { defensive: false })
  const pages = 'SELECT id FROM terms_data WHERE id > (1 << 37) AND (id & (1 << 36)) = 0 ORDER BY id'
  const ids = raw
    .prepare(pages)
    .all()
    .map(({ id }) => Number(id))
  expect(ids.length).toBeGreaterThan(8)
  for (const id of ids.slice(2, -2)) raw.prepare('DELETE FROM terms_data WHERE id = ?').run(id)
  raw.close()
}

const fields = fc.constantFrom<Filter>(
  { q: 'results' },
  { fcaCategories: ['FR'] },
  { filters: [{ q: 'results' }, { fcaCategories: ['FR'] }] },
)

describe('candidates of an index scan', () => {
  it('are returned once each and in order, whatever the batch size and however they are consumed', () => {
    const cases = fc.record({
      marks: fc.array(fc.constantFrom('text', 'code', 'both', 'none', 'gap'), {
        minLength: 1,
        maxLength: 30,
      }),
      filter: fields,
      direction: fc.constantFrom<Direction>('ASC', 'DESC'),
      rows: fc.integer({ min: 1, max: 4 }),
      firstSpan: fc.integer({ min: 1, max: 9 }),
      /** How many of each batch are read before the next. */
      patience: fc.integer({ min: 1, max: 5 }),
    })
    fc.assert(
      fc.property(cases, ({ marks, filter, direction, rows, firstSpan, patience }) => {
        const archive = memoryArchive(
          inPlace(
            marks.map((mark, index) =>
              eventWith(
                {
                  kind: mark === 'gap' ? 'gap' : 'published',
                  headline: mark === 'text' || mark === 'both' ? 'Final results' : 'Other',
                  fca: mark === 'code' || mark === 'both' ? ['FR'] : [],
                },
                `g${index}`,
              ),
            ),
          ),
        )
        const words = indexPredicate(filter)
        if (words === null) throw new Error('no index')
        const scanCursor = createScanCursor(words, { rows, firstSpan, smallestSpan: 1 })
        const seen: number[] = []
        let [low, high] = [0, marks.length]
        while (low < high) {
          const range = { epoch: archive.epoch, direction, after: low, through: high }
          const part = nextCandidates(archive.db, () => 0, scanCursor, range)
          const taken = part.sequences.slice(0, patience)
          seen.push(...taken)
          const last = taken.length < part.sequences.length ? taken.at(-1) : undefined
          if (direction === 'ASC') low = last ?? part.through
          else high = last === undefined ? part.after : last - 1
        }
        const wanted = marks.flatMap((mark, index) => {
          const byText = filter.fcaCategories === undefined && (mark === 'text' || mark === 'both')
          const byCode = filter.q === undefined && (mark === 'code' || mark === 'both')
          return mark === 'gap' || byText || byCode ? [index + 1] : []
        })
        expect(seen).toEqual(direction === 'ASC' ? wanted : wanted.toReversed())
        archive.close()
      }),
      { numRuns: 200 },
    )
  })

  it('of a range are found without reading what the index holds of other ranges', () => {
    using directory = temporaryDirectory()
    const path = join(directory.path, 'index.db')
    writeIndexOfOneCode(path, 50_000)
    const archive = openArchive({ path, nativeKind: 'Native', durable: false })
    const found = (direction: Direction, after: number) => {
      const scanCursor = createScanCursor({ terms: COMMON, headlines: null })
      const range = { epoch: null, direction, after, through: after + 100 }
      return nextCandidates(archive.db, () => 0, scanCursor, range).sequences
    }
    for (const after of [0, 49_900]) {
      const wanted = Array.from({ length: 100 }, (_, index) => after + index + 1)
      expect(found('ASC', after)).toEqual(wanted)
      expect(found('DESC', after)).toEqual(wanted.toReversed())
      expect(countCode(archive, 'fca', 'FR', { after, through: after + 100 })).toBe(100)
    }
    expect(() => found('ASC', 25_000)).toThrow('corruption')
    archive.close()
  })

  it('are read again, not taken from the buffer, when the epoch has changed', () => {
    const words = indexPredicate({ fcaCategories: ['FR'] })
    if (words === null) throw new Error('no index')
    const scanCursor = createScanCursor(words)
    const archive = memoryArchive(inPlace([eventWith({}, 'a'), eventWith({ fca: ['FR'] }, 'b')]))
    const range = { direction: 'ASC' as const, after: 0, through: 2 }
    expect(
      nextCandidates(archive.db, () => 0, scanCursor, { ...range, epoch: 'Epoch001' }).sequences,
    ).toEqual([2])
    archive.clear()
    archive.append(inPlace([eventWith({ fca: ['FR'] }, 'c'), eventWith({}, 'd')], 1, 'Epoch002'))
    expect(
      nextCandidates(archive.db, () => 0, scanCursor, { ...range, epoch: 'Epoch002' }).sequences,
    ).toEqual([1])
  })
})
