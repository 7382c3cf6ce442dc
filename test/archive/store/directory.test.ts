import { join } from 'node:path'
import { expect, test } from 'vitest'
import { countCode } from '../../../src/archive/reading/directory-entries.ts'
import { type Archive, openArchive } from '../../../src/archive/store/archive.ts'
import { storedCodes, storedIssuers } from '../../../src/archive/store/directory.ts'
import { temporaryDirectory } from '../../support/bridge-process.ts'
import { eventWith, inPlace, memoryArchive } from '../samples.ts'

const LEI = '213800TB53ELEUKM7Q61'
const events = inPlace([
  eventWith({ issuer: { symbol: 'AAA', lei: LEI }, fca: ['FR'], native: ['RE'] }, 'a'),
  eventWith({ issuer: { symbol: 'BBB', lei: LEI }, fca: ['FR', 'NAV'] }, 'b'),
  eventWith({ issuer: { symbol: 'CCC' } }, 'c'),
])

/** All that is found by any of these beginnings, and all codes. */
function directory({ db }: Archive) {
  const found = ['a comp', '2138', 'AAA', 'CCC'].map((prefix) => storedIssuers(db, prefix, 20))
  return { found, fca: storedCodes(db, 'fca', 9), native: storedCodes(db, 'native', 9) }
}

/** Removes what a build without the directory would not have written after the event of that sequence. */
function asWrittenByOlderBuild({ db }: Archive, sequence: number): void {
  const isLater = ['name %', 'lei %', 'codes %', 'directory %'].map((like) => `identifier LIKE '${like}'`)
  db.prepare(`DELETE FROM issuers WHERE (${isLater.join(' OR ')}) AND sequence > ?`).run(sequence)
  if (sequence > 0) {
    db.prepare("INSERT OR REPLACE INTO issuers VALUES ('directory through', '', ?)").run(sequence)
  }
}

test('companies are found by what they published under, and codes have the sequence of their newest event', () => {
  expect(directory(memoryArchive(events))).toEqual({
    found: [
      [
        { field: 'name', value: 'a company', company: `lei ${LEI}`, sequence: 2 },
        { field: 'name', value: 'a company', company: 'name a company', sequence: 3 },
      ],
      [{ field: 'lei', value: LEI, company: `lei ${LEI}`, sequence: 2 }],
      [{ field: 'symbol', value: 'AAA', company: `lei ${LEI}`, sequence: 1 }],
      [{ field: 'symbol', value: 'CCC', company: 'name a company', sequence: 3 }],
    ],
    fca: [
      { code: 'FR', sequence: 2 },
      { code: 'NAV', sequence: 2 },
    ],
    native: [{ code: 'RE', sequence: 1 }],
  })
})

test.each([0, 1])('names and codes that an older build wrote after event %i are caught up', (done) => {
  using place = temporaryDirectory()
  const open = () =>
    openArchive({ path: join(place.path, 'bridge.db'), nativeKind: 'Native', durable: false })
  const before = open()
  before.append(events)
  const expected = directory(before)
  asWrittenByOlderBuild(before, done)
  expect(directory(before)).not.toEqual(expected)
  before.close()
  const after = open()
  expect(directory(after)).toEqual(expected)
  after.close()
})

test('events with a code are counted range by range', () => {
  const archive = memoryArchive(events)
  const counts = [0, 1, 2].map((after) => countCode(archive, 'fca', 'FR', { after, through: after + 1 }))
  expect([counts, countCode(archive, 'fca', 'FR', { after: 0, through: 3 })]).toEqual([[1, 1, 0], 2])
  expect(countCode(archive, 'native', 'FR', { after: 0, through: 3 })).toBe(0)
})

test('what only pruned events had is no longer found', () => {
  const archive = memoryArchive(events)
  expect(archive.prune(2, 10)).toBe(1)
  expect(storedIssuers(archive.db, 'AAA', 9)).toEqual([])
  expect(storedCodes(archive.db, 'native', 9)).toEqual([])
  expect(storedCodes(archive.db, 'fca', 9)).toHaveLength(2)
})
