import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { seededChance } from '../../../src/core/chance.ts'
import { GAP_FACTS } from '../../../src/core/filter/facts.ts'
import type { Filter } from '../../../src/core/filter/filter.ts'
import { matches } from '../../../src/core/filter/filter.ts'
import { FilterIndex } from '../../../src/core/filter/filter-index.ts'
import { liveBytes } from '../../support/live-bytes.ts'
import { factsOf, someFacts, someFilter } from './filter-samples.ts'

const MANY_FILTERS = 1001
const MANY_EVENTS = 1000

describe('the index', () => {
  test('finds exactly the filters that the plain evaluator matches, whatever was added, replaced and removed', () => {
    const change = fc.record({
      id: fc.integer({ min: 0, max: 20 }),
      filter: fc.option(someFilter, { nil: null, freq: 5 }),
    })
    fc.assert(
      fc.property(
        fc.array(change, { maxLength: 40 }),
        fc.array(someFacts, { minLength: 1, maxLength: 10 }),
        (changes, events) => {
          const index = new FilterIndex<number>()
          const model = new Map<number, Filter>()
          for (const { id, filter } of changes) {
            if (filter === null) {
              index.remove(id)
              model.delete(id)
            } else {
              index.add(id, filter)
              model.set(id, filter)
            }
          }
          expect(index.size).toBe(model.size)
          for (const facts of events) {
            const wanted = [...model].filter(([, filter]) => matches(filter, facts)).map(([id]) => id)
            expect(index.match(facts).sort((a, b) => a - b)).toEqual(wanted.sort((a, b) => a - b))
          }
        },
      ),
      { numRuns: 300 },
    )
  })

  test('equals the plain evaluator on a million pairs, while filters are added, changed and removed', () => {
    const million = (seed: number): void => {
      const chance = seededChance(seed)
      const filters = fc.sample(someFilter, { numRuns: MANY_FILTERS, seed })
      const events = fc.sample(someFacts, { numRuns: MANY_EVENTS, seed })
      const index = new FilterIndex<number>()
      const model = new Map<number, Filter>()
      const put = (id: number, filter: Filter): void => {
        index.add(id, filter)
        model.set(id, filter)
      }
      const someId = (): number => chance.between(0, MANY_FILTERS - 1)
      for (const [id, filter] of filters.entries()) put(id, filter)
      let pairs = 0
      for (const facts of events) {
        put(someId(), chance.pick(filters))
        const gone = someId()
        index.remove(gone)
        model.delete(gone)
        const found = new Set(index.match(facts))
        const differing = [...model].filter(([id, filter]) => found.delete(id) !== matches(filter, facts))
        expect({ facts, differing, unknown: [...found] }).toEqual({ facts, differing: [], unknown: [] })
        pairs += model.size
        put(gone, chance.pick(filters))
      }
      expect(pairs).toBeGreaterThanOrEqual(1_000_000)
    }
    fc.assert(fc.property(fc.integer(), million), { numRuns: 1, endOnFailure: true })
  })

  test('random filters match often enough for the comparison to be meaningful', () => {
    const pairs = fc.sample(fc.tuple(someFilter, someFacts), { numRuns: 2000, seed: 1 })
    const hits = pairs.filter(([filter, facts]) => facts.kind !== 'gap' && matches(filter, facts)).length
    expect(hits).toBeGreaterThan(200)
    expect(hits).toBeLessThan(1800)
  })

  test('matches every filter for a gap event', () => {
    const index = new FilterIndex<string>()
    index.add('one', { symbols: ['VOD'] })
    index.add('two', {})
    expect(index.match(GAP_FACTS).sort()).toEqual(['one', 'two'])
  })

  test('holds an identifier that one filter has in less than 100 bytes', async () => {
    const filters = Array.from({ length: 10 }, (_, filter) => ({
      symbols: Array.from({ length: 10_000 }, (_, at) => `S${filter}X${at}`),
    }))
    const before = await liveBytes()
    const index = new FilterIndex<object>()
    for (const filter of filters) index.add({}, filter)
    expect(((await liveBytes()) - before) / 100_000).toBeLessThan(100)
    expect(index.match(factsOf({ issuer: { symbol: 'S7X7' } }))).toHaveLength(1)
  })

  test('does not evaluate filters whose identifier or code the event lacks', () => {
    const index = new FilterIndex<number>()
    let asked = 0
    for (let id = 0; id < 5000; id++) {
      index.add(id, { q: 'results' })
      index.add(id, {
        get symbols() {
          asked += 1
          return [`S${id}`]
        },
        types: ['published'],
      })
    }
    asked = 0
    expect(index.match(factsOf({ issuer: { symbol: 'S77' } }))).toEqual([77])
    expect(asked).toBe(1)
  })
})
