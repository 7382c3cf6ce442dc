import { expect, test } from 'vitest'
import { archiveItems } from '../../../src/archive/items/items.ts'
import { EVERYTHING, type Selection } from '../../../src/core/filter/selection.ts'
import { eventWith, inPlace, memoryArchive, never, items as plainItems, START_MS } from '../samples.ts'

/** A clock that advances by this much on every reading, so that each time slice ends after a few steps. */
function hurriedClock(stepMs: number) {
  let nowMs = 0
  return {
    now() {
      nowMs += stepMs
      return nowMs
    },
    after: () => () => {},
  }
}

const selections: [string, Partial<Selection>][] = [
  ['EVERYTHING', {}],
  ['a scan', { hasSymbol: true }],
  ['an index', { fcaCategories: ['FR'] }],
  ['a headline', { q: 'RESULTS' }],
  ['a short headline', { q: 'fi' }],
  ['a range', { fromMs: START_MS + 3000, toMs: START_MS + 9000 }],
]

const drawn = Array.from({ length: 60 }, (_, index) =>
  eventWith(
    {
      headline: index % 3 === 0 ? 'Final Results' : 'Other',
      fca: index % 2 === 0 ? ['FR'] : [],
      issuer: index % 5 === 0 ? { symbol: 'VOD' } : {},
    },
    `g${index}`,
    START_MS + ((index * 7) % 60) * 500,
  ),
)

test.each(selections)('%s returns the same items with any length of time slice', async (_, part) => {
  const archive = memoryArchive(inPlace(drawn))
  const whole = { after: 0, through: 60, asOf: 60 }
  const leisurely = archiveItems(archive, hurriedClock(0))
  const hurried = archiveItems(archive, hurriedClock(20))
  const selection = { ...EVERYTHING, ...part }
  const expected = await leisurely.newest(selection, whole, 1000, never)
  expect(expected.items.length).toBeGreaterThan(0)
  expect(await hurried.newest(selection, whole, 1000, never)).toEqual(expected)
  for (const offset of [0, 3, 59, 1000]) {
    expect(await hurried.numbered(selection, offset, 5, never)).toEqual({
      items: expected.items.slice(offset, offset + 5),
      total: expected.items.length,
    })
  }
  expect(await hurried.newest(selection, whole, 2, never)).toEqual({
    items: expected.items.slice(0, 2),
    more: true,
  })
  archive.close()
})

test('an aborted read stops and returns what it has', async () => {
  const archive = memoryArchive(inPlace(drawn))
  const { numbered } = archiveItems(archive, hurriedClock(20))
  const gone = new AbortController()
  const asked = numbered({ ...EVERYTHING, hasSymbol: true }, 0, 100, gone.signal)
  gone.abort()
  expect((await asked).total).toBeLessThan(12)
  archive.close()
})

test('a read fails when the replica is rebuilt meanwhile, and returns no partial result', async () => {
  const archive = memoryArchive(inPlace(drawn))
  const { newest } = archiveItems(archive, hurriedClock(20))
  const asked = newest({ ...EVERYTHING, hasSymbol: true }, { after: 0, through: 60, asOf: 60 }, 100, never)
  archive.clear()
  await expect(asked).rejects.toMatchObject({ code: 'log_unavailable' })
  archive.close()
})

test('a read as of a sequence does not see later revisions', async () => {
  const archive = memoryArchive(inPlace(plainItems(3)))
  archive.append(inPlace([eventWith({ kind: 'amended', headline: 'again' }, 'guid-2')], 4))
  const { newest } = archiveItems(archive, hurriedClock(0))
  const sequences = async (asOf: number) =>
    (await newest(EVERYTHING, { after: 0, through: 4, asOf }, 10, never)).items.map(
      ({ sequence }) => sequence,
    )
  expect(await sequences(4)).toEqual([4, 3, 1])
  expect((await newest(EVERYTHING, { after: 0, through: 3, asOf: 3 }, 10, never)).items).toHaveLength(3)
  archive.close()
})
