import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type Archive, openArchive } from '../../../src/archive/store/archive.ts'
import { linkedTags } from '../../../src/archive/store/listings.ts'
import type { UpgradeProgress } from '../../../src/archive/store/upgrade.ts'
import { isinTag, symbolTag } from '../../../src/core/filter/listing.ts'
import { temporaryDirectory } from '../../support/bridge-process.ts'
import { eventWith, inPlace } from '../samples.ts'

const LEI = '213800TB53ELEUKM7Q61'
const events = inPlace([
  eventWith({ issuer: { isin: 'GB00BH4HKS39', symbol: 'OLD', lei: LEI } }, 'a'),
  eventWith({ issuer: { isin: 'GB00BH4HKS39', symbol: 'NEW', lei: LEI } }, 'b'),
  eventWith({ issuer: { isin: 'GB0002634946', symbol: 'NEW', lei: LEI } }, 'c'),
])
const [first, ...later] = events

/** What links each tag of the events. */
function links({ db }: Archive): string[][] {
  const tags = ['GB00BH4HKS39', 'GB0002634946'].map(isinTag)
  const symbols = ['OLD', 'NEW'].map((symbol) => symbolTag(symbol, `lei ${LEI}`))
  return [...tags, ...symbols].map((tag) => linkedTags(db, tag))
}

/** Removes what a build without listings would not have written after the event of that sequence. */
function asWrittenByOlderBuild({ db }: Archive, sequence: number): void {
  const isLater = "identifier LIKE 'links %' OR identifier = 'directory through'"
  db.prepare(`DELETE FROM issuers WHERE (${isLater}) AND sequence > ?`).run(sequence)
  if (sequence > 0) {
    db.prepare("INSERT OR REPLACE INTO issuers VALUES ('directory through', '', ?)").run(sequence)
  }
}

test.each([0, 1])(
  'events that an older build wrote after event %i are caught up when the file is opened',
  (done) => {
    using directory = temporaryDirectory()
    const reports: UpgradeProgress[] = []
    const open = () =>
      openArchive({
        path: join(directory.path, 'bridge.db'),
        nativeKind: 'Native',
        durable: false,
        onUpgrade: (progress) => reports.push(progress),
      })
    const before = open()
    if (first !== undefined) before.append([first])
    before.append(later)
    const expected = links(before)
    expect(expected.map((linked) => linked.length)).toEqual([2, 1, 1, 2])
    asWrittenByOlderBuild(before, done)
    expect(links(before)).not.toEqual(expected)
    before.close()
    expect(reports).toEqual([])
    const after = open()
    expect(links(after)).toEqual(expected)
    expect(reports).toEqual([
      { sequence: done, latest: 3 },
      { sequence: 3, latest: 3 },
    ])
    after.close()
    open().close()
    expect(reports).toHaveLength(2)
  },
)
