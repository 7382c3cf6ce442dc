import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Direction } from '../../../src/archive/reading/scan-cursor.ts'
import { createScanCursor, nextCandidates } from '../../../src/archive/reading/scan-cursor.ts'
import { indexPredicate } from '../../../src/archive/store/index-terms.ts'
import type { Filter } from '../../../src/core/filter/filter.ts'
import { eventWith, inPlace, memoryArchive } from '../samples.ts'

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
