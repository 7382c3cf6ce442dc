import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { archiveItems } from '../../../src/archive/items/items.ts'
import { openArchive } from '../../../src/archive/store/archive.ts'
import { derivedThrough, ensureSchema } from '../../../src/archive/store/schema.ts'
import { finishUpgrade, type UpgradeProgress } from '../../../src/archive/store/upgrade.ts'
import type { Committed } from '../../../src/core/event.ts'
import { encodeAttributes } from '../../../src/core/event.ts'
import { systemClock } from '../../../src/lifecycle/clock.ts'
import { atOnce } from '../../../src/lifecycle/slices.ts'
import { type Database, openDatabase } from '../../../src/storage/database.ts'
import { temporaryDirectory } from '../../support/bridge-process.ts'
import { EPOCH, eventWith, gapAt, inPlace, memoryArchive, START_MS } from '../samples.ts'

/** The tables as version 1 made them. */
const VERSION_1 = `
  CREATE TABLE meta(name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
  CREATE TABLE events(sequence INTEGER PRIMARY KEY, attributes TEXT NOT NULL, data TEXT NOT NULL);
  CREATE TABLE facts(
    sequence INTEGER PRIMARY KEY, time_ms INTEGER NOT NULL, recorded_ms INTEGER NOT NULL, type TEXT NOT NULL,
    guid TEXT, revision INTEGER, hash TEXT, facts TEXT
  );
  CREATE INDEX facts_guid ON facts(guid, revision) WHERE guid IS NOT NULL;
  CREATE TABLE highs(time_ms INTEGER PRIMARY KEY, sequence INTEGER NOT NULL);
  CREATE VIRTUAL TABLE terms USING fts5(words, content = '', columnsize = 0, detail = none, tokenize = 'ascii');
  CREATE VIRTUAL TABLE headlines USING fts5(
    headline, content = '', columnsize = 0, detail = none, tokenize = 'trigram case_sensitive 1'
  );
  PRAGMA user_version = 1;
`

/** Seven events from sequence 41 on: amended twice, back-dated, a gap. */
const events = inPlace(
  [
    eventWith({ issuer: { isin: 'GB00BH4HKS39' }, headline: 'One', fca: ['FR'] }, 'a', START_MS),
    eventWith(
      { issuer: { symbol: 'VOD', lei: '213800TB53ELEUKM7Q61' }, headline: 'Two' },
      'b',
      START_MS + 5000,
    ),
    gapAt('x', START_MS + 6000),
    eventWith({ headline: 'Old' }, 'c', START_MS - 5000),
    eventWith({ kind: 'amended', headline: 'One again' }, 'a', START_MS),
    eventWith({ headline: 'Three', native: ['RE'] }, 'd', START_MS + 7000),
    eventWith({ kind: 'amended', headline: 'Three again' }, 'd', START_MS + 7000),
  ],
  41,
)

/** A database file as version 1 wrote it, including index terms that no query uses any more. */
function writeVersion1(path: string): void {
  const db = openDatabase({ path, durable: false })
  db.exec(VERSION_1)
  db.prepare("INSERT INTO meta VALUES ('epoch', ?)").run(EPOCH)
  for (const event of events) insertAsVersion1(db, event)
  db.close()
}

function insertAsVersion1(db: Database, event: Committed): void {
  const { sequence, timeMs, type, data } = event
  db.prepare('INSERT INTO events VALUES (?, ?, ?)').run(sequence, encodeAttributes(event), data)
  db.prepare('INSERT INTO facts VALUES (?, ?, ?, ?, ?, 1, ?, ?)').run(
    sequence,
    timeMs,
    timeMs + 1000,
    type,
    event.id,
    'hash',
    '{"headline":"of version 1"}',
  )
  db.prepare('INSERT OR IGNORE INTO highs VALUES (?, ?)').run(timeMs, sequence)
  db.prepare('INSERT INTO terms(rowid, words) VALUES (?, ?)').run(sequence, 'abc1234')
  db.prepare('INSERT INTO headlines(rowid, headline) VALUES (?, ?)').run(sequence, 'of version 1')
}

/** Everything that is derived, and the events themselves. */
function contents(db: Database): unknown {
  const rows = (table: string) => db.prepare(`SELECT * FROM ${table}`).all()
  const found = (index: string, words: string) =>
    db.prepare<{ rowid: number }>(`SELECT rowid FROM ${index} WHERE ${index} MATCH ?`).all(words)
  return {
    ...Object.fromEntries(
      ['meta', 'events', 'facts', 'items', 'issuers', 'highs'].map((name) => [name, rows(name)]),
    ),
    ofVersion1: [found('terms', '"abc1234"'), found('headlines', '"ver"')],
    headlines: found('headlines', '"aga"'),
  }
}

function expected(): unknown {
  const fresh = memoryArchive(events)
  const whole = contents(fresh.db)
  fresh.close()
  return whole
}

describe('a store of the previous version', () => {
  it('has everything derived again on opening, as if this version had written it', async () => {
    using directory = temporaryDirectory()
    const path = join(directory.path, 'bridge.db')
    writeVersion1(path)
    const reported: UpgradeProgress[] = []
    const archive = openArchive({
      path,
      nativeKind: 'Native',
      durable: false,
      onUpgrade: (progress) => reported.push(progress),
    })
    expect(contents(archive.db)).toEqual(expected())
    expect(reported).toEqual([
      { sequence: 0, latest: 47 },
      { sequence: 47, latest: 47 },
    ])
    expect([archive.epoch, archive.oldest, archive.latest]).toEqual([EPOCH, 41, 47])
    expect(archive.committed(0, 10)).toEqual(events)
    expect(archive.known(['a', 'd']).get('d')?.revision).toBe(2)
    const items = archiveItems(archive, systemClock)
    expect(JSON.parse(items.byGuid('a') ?? '{}')).toMatchObject({ headline: 'One again' })
    archive.append(inPlace([eventWith({}, 'e')], 48))
    archive.close()
  })

  it('continues its upgrade after a stop at any moment, without repeating a step', () => {
    for (let stopAfter = 1; stopAfter <= 4; stopAfter++) {
      using directory = temporaryDirectory()
      const path = join(directory.path, 'bridge.db')
      writeVersion1(path)
      const db = openDatabase({ path, durable: false })
      ensureSchema(db)
      let reports = 0
      const stop = (): void => {
        reports += 1
        if (reports > stopAfter) throw new Error('stopped')
      }
      const pace = { batchEvents: 2, reportEvents: 2 }
      expect(() => atOnce(finishUpgrade(db, 'Native', stop, pace))).toThrow('stopped')
      expect(derivedThrough(db)).toBeGreaterThan(40)
      db.close()
      const archive = openArchive({ path, nativeKind: 'Native', durable: false })
      expect(contents(archive.db)).toEqual(expected())
      archive.close()
    }
  })

  it('is upgraded only once', () => {
    using directory = temporaryDirectory()
    const path = join(directory.path, 'bridge.db')
    writeVersion1(path)
    openArchive({ path, nativeKind: 'Native', durable: false }).close()
    const onUpgrade = (): void => {
      throw new Error('nothing to do')
    }
    openArchive({ path, nativeKind: 'Native', durable: false, onUpgrade }).close()
  })
})

it('a store of a later version is rejected and left unchanged', () => {
  using directory = temporaryDirectory()
  const path = join(directory.path, 'bridge.db')
  const db = openDatabase({ path, durable: false })
  db.exec('PRAGMA user_version = 99')
  db.close()
  expect(() => openArchive({ path, nativeKind: 'Native', durable: false })).toThrow(
    expect.objectContaining({ code: 'log_damaged', hint: expect.stringContaining('newer') }),
  )
})
