import fc from 'fast-check'
import { expect, test } from 'vitest'
import { archiveItems } from '../../../src/archive/items/items.ts'
import { createSearchSlices } from '../../../src/archive/reading/search-slices.ts'
import type { NewEvent } from '../../../src/core/event.ts'
import { EVERYTHING, type Selection } from '../../../src/core/filter/selection.ts'
import { type Clock, yieldToEventLoop } from '../../../src/lifecycle/clock.ts'
import { eventWith, inPlace, memoryArchive, never, START_MS } from '../samples.ts'

/** A window ends after two rows. */
function hurriedClock(): Clock {
  let nowMs = 0
  return { now: () => (nowMs += 5), after: () => () => {} }
}

const selections: Partial<Selection>[] = [
  { hasSymbol: true },
  { q: 'fi' },
  { q: 'final' },
  { fcaCategories: ['FR'] },
  { hasSymbol: true, toMs: START_MS + 8000 },
  { q: 'fi', fromMs: START_MS + 5000 },
  { isins: ['GB0001'] },
  { isins: ['GB0001', ...Array.from({ length: 70 }, (_, n) => `GB1${n}`)], match: 'related' },
]

const item = fc.record({
  /** The guid, so that one may come again with other content. */
  guid: fc.nat(30),
  isFinal: fc.boolean(),
  symbol: fc.option(fc.constantFrom('AAA', 'BBB'), { nil: undefined }),
  isin: fc.option(fc.constantFrom('GB0001', 'GB0002'), { nil: undefined }),
  lei: fc.constantFrom('LEI1', 'LEI2'),
})
const operation = fc.oneof(
  fc.record({ append: fc.array(item, { minLength: 1, maxLength: 12 }) }),
  fc.record({ prune: fc.nat(6) }),
  fc.record({ clear: fc.constant(true) }),
  fc.record({
    ask: fc.nat(selections.length - 1),
    offset: fc.nat(12),
    limit: fc.integer({ min: 1, max: 5 }),
    /** Comes while the request runs, after so many ticks; then the same is asked again. */
    meanwhile: fc.array(item, { maxLength: 4 }),
    ticks: fc.nat(4),
  }),
  fc.record({ abort: fc.nat(selections.length - 1) }),
)

function archiveOfDrawnItems() {
  const archive = memoryArchive()
  const revisions = new Map<number, number>()
  return {
    archive,
    append(drawn: readonly (typeof item extends fc.Arbitrary<infer T> ? T : never)[]) {
      const events = drawn.flatMap(({ guid, isFinal, symbol, isin, lei }) => {
        const revision = (revisions.get(guid) ?? 0) + 1
        if (revision > 2) return []
        revisions.set(guid, revision)
        const issuer = { lei, ...(symbol && { symbol }), ...(isin && { isin }) }
        const headline = isFinal ? 'Final Results' : 'Other'
        const kind = revision === 1 ? 'published' : 'amended'
        const facts = { kind, headline, fca: isFinal ? ['FR'] : [], issuer } as const
        return eventWith(facts, `g${guid}`, START_MS + guid * 500)
      })
      archive.append(inPlace(events, archive.latest + 1))
    },
    clear() {
      revisions.clear()
      archive.clear()
    },
  }
}

test('with counts of earlier requests every page and total is as without, whatever comes, goes and is replaced between', async () => {
  const property = fc.asyncProperty(
    fc.array(operation, { minLength: 5, maxLength: 40 }),
    async (operations) => {
      const { archive, append, clear } = archiveOfDrawnItems()
      const clock = hurriedClock()
      const itemsWith = (leastSpan: number) =>
        archiveItems(archive, clock, createSearchSlices(clock), { block: 3, leastSpan, searches: 4 })
      const counted = itemsWith(0)
      /** The moments of the lists that clients are still paging through. */
      const moments: number[] = []
      for (const done of operations) {
        if ('append' in done) append(done.append)
        else if ('prune' in done) archive.prune(archive.oldest + done.prune, 100)
        else if ('clear' in done) {
          clear()
          moments.length = 0
        } else if ('abort' in done) {
          const gone = new AbortController()
          const aborted = counted.numbered({ ...EVERYTHING, ...selections[done.abort] }, 0, 5, gone.signal)
          gone.abort()
          await aborted
        } else {
          const selection = { ...EVERYTHING, ...selections[done.ask] }
          const plain = itemsWith(Number.POSITIVE_INFINITY)
          const { offset, limit } = done
          moments.push(archive.latest)
          const asked = [counted, plain].map((one) => one.numbered(selection, offset, limit, never))
          for (let tick = 0; tick < done.ticks; tick++) await yieldToEventLoop()
          append(done.meanwhile)
          const again = [counted, plain].map((one) => one.numbered(selection, offset, limit, never))
          for (const [one, other] of [await Promise.all(asked), await Promise.all(again)]) {
            expect(one).toEqual(other)
          }
          for (const asOf of moments) {
            const range = { after: 0, through: Math.max(0, asOf - offset), asOf }
            expect(await counted.newest(selection, range, limit, never)).toEqual(
              await plain.newest(selection, range, limit, never),
            )
          }
        }
      }
      archive.close()
    },
  )
  await fc.assert(property, { numRuns: 150, endOnFailure: true })
})

test('a later page and its total inspect only the blocks that the page lies in', async () => {
  const archive = memoryArchive(
    inPlace(
      // The last block is not full, and windows end anywhere in the blocks.
      Array.from({ length: 61 }, (_, index) =>
        eventWith({ issuer: index % 2 === 0 ? { symbol: 'VOD' } : {} }, `g${index}`, START_MS + index * 1000),
      ),
    ),
  )
  const clock = hurriedClock()
  const options = { block: 6, leastSpan: 0, searches: 4 }
  const { numbered, newest } = archiveItems(archive, clock, createSearchSlices(clock), options)
  const symbols = { ...EVERYTHING, hasSymbol: true }
  const rare = { ...EVERYTHING, q: 'zz' }
  const whole = { after: 0, through: 61, asOf: 61 }
  const first = await numbered(symbols, 0, 3, never)
  await newest(rare, whole, 3, never)
  // A look at any other block fails now.
  archive.db.exec(
    "UPDATE facts SET facts = 'zz, unreadable' WHERE sequence <= 36 OR (sequence > 42 AND sequence <= 60)",
  )
  const page = await numbered(symbols, 10, 3, never)
  expect(page.total).toBe(first.total)
  expect(page.items.map(({ sequence }) => sequence)).toEqual([41, 39, 37])
  expect(await newest(rare, whole, 3, never)).toEqual({ items: [], more: false })
  archive.close()
})

/** Counted items over these events, which may grow, shrink and be replaced by others. */
function countedOver(events: readonly NewEvent[]) {
  const archive = memoryArchive(inPlace(events))
  const clock = hurriedClock()
  const options = { block: 3, leastSpan: 0, searches: 4 }
  const { numbered } = archiveItems(archive, clock, createSearchSlices(clock), options)
  const totalOf = async (part: Partial<Selection>) =>
    (await numbered({ ...EVERYTHING, ...part }, 100, 1, never)).total
  return { archive, totalOf }
}

const symbolItems = (count: number, symbol?: string) =>
  Array.from({ length: count }, (_, index) =>
    eventWith({ issuer: symbol === undefined ? {} : { symbol } }, `${symbol}${index}`, START_MS),
  )

test('counts are dropped with the events that they count: pruned, or replaced when a replica is filled again', async () => {
  const { archive, totalOf } = countedOver(symbolItems(12, 'AAA'))
  expect(await totalOf({ hasSymbol: true })).toBe(12)
  archive.prune(6, 100)
  expect(await totalOf({ hasSymbol: true })).toBe(7)
  archive.clear()
  archive.append(inPlace(symbolItems(15)))
  expect(await totalOf({ hasSymbol: true })).toBe(0)
  archive.close()
})

test('counts are not used once an identifier means one more company', async () => {
  const under = (lei: string, isin: string, guid: string) =>
    eventWith({ issuer: { lei, isin } }, guid, START_MS)
  const { archive, totalOf } = countedOver([
    ...Array.from({ length: 9 }, (_, index) => under('LEI1', 'GB0001', `one${index}`)),
    ...Array.from({ length: 9 }, (_, index) => under('LEI2', 'GB0002', `two${index}`)),
  ])
  expect(await totalOf({ isins: ['GB0001'] })).toBe(9)
  archive.append(inPlace([under('LEI2', 'GB0001', 'both')], 19))
  expect(await totalOf({ isins: ['GB0001'] })).toBe(19)
  archive.close()
})

test('the searches that were used last are remembered', async () => {
  const { archive, totalOf } = countedOver(symbolItems(12, 'AAA'))
  for (const q of ['aa', 'bb', 'cc', 'dd', 'aa', 'ee']) await totalOf({ q })
  archive.db.exec("UPDATE facts SET facts = 'aa bb unreadable'")
  expect(await totalOf({ q: 'aa' })).toBe(0)
  await expect(totalOf({ q: 'bb' })).rejects.toThrow(/JSON/)
  archive.close()
})

test('a request that was given up leaves its counts to the next one', async () => {
  const archive = memoryArchive(inPlace(symbolItems(60, 'AAA')))
  const clock = hurriedClock()
  const options = { block: 6, leastSpan: 0, searches: 4 }
  const { numbered } = archiveItems(archive, clock, createSearchSlices(clock), options)
  const symbols = { ...EVERYTHING, hasSymbol: true }
  const gone = new AbortController()
  const asked = numbered(symbols, 100, 1, gone.signal)
  for (let tick = 0; tick < 6; tick++) await yieldToEventLoop()
  gone.abort()
  expect((await asked).total).toBeLessThan(60)
  // The newest block was counted; a look at it fails now.
  archive.db.exec("UPDATE facts SET facts = 'unreadable' WHERE sequence > 54")
  expect((await numbered(symbols, 100, 1, never)).total).toBe(60)
  archive.close()
})
