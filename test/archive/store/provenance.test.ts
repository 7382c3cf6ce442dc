import { join } from 'node:path'
import { expect, test } from 'vitest'
import { eventAt, findSequence } from '../../../src/archive/reading/one-event.ts'
import { type Archive, openArchive } from '../../../src/archive/store/archive.ts'
import type { Committed } from '../../../src/core/event.ts'
import { encodeAttributes } from '../../../src/core/event.ts'
import { openDatabase } from '../../../src/storage/database.ts'
import { temporaryDirectory } from '../../support/bridge-process.ts'
import { eventWith, gapAt, inPlace, memoryArchive, START_MS } from '../samples.ts'

const events = inPlace([
  eventWith({ headline: 'one' }, 'a'),
  { ...eventWith({ headline: 'two' }, 'b'), replacesid: 'a' },
  gapAt('g', START_MS),
])
const known: Committed[] = events.map((event) => ({
  ...event,
  foundBy: 'sweep',
  committedMs: START_MS + 5,
  topics: ['fca.FR'],
  journey: 'sent=412 scan=gap_retry later=1',
}))

const COLUMNS = ['found_by', 'committed_ms', 'topics', 'journey']

/** What is found of the event of that name. */
function found(archive: Archive, name: string) {
  const place = findSequence(archive, archive, name)
  if (place.kind !== 'found') return place.kind
  const one = eventAt(archive, archive, place.sequence)
  return one && { sequence: one.event.sequence, replacedBy: one.replacedBy, ...one.provenance }
}

/** Removes what a build without provenance would not have written after the event of that sequence. */
function asWrittenByOlderBuild(path: string, sequence: number): void {
  const db = openDatabase({ path, durable: false })
  const isLater =
    "identifier LIKE 'replace%' OR identifier LIKE 'event %' OR identifier = 'directory through'"
  db.prepare(`DELETE FROM issuers WHERE (${isLater}) AND sequence > ?`).run(sequence)
  if (sequence > 0) {
    db.prepare("INSERT OR REPLACE INTO issuers VALUES ('directory through', '', ?)").run(sequence)
  } else {
    for (const column of COLUMNS) db.exec(`ALTER TABLE events DROP COLUMN ${column}`)
  }
  db.close()
}

/** Writes an event with the statement of a build without provenance, which leaves its other tables to the catch-up. */
function appendAsOlderBuild({ db }: Archive, event: Committed): void {
  db.prepare('INSERT INTO events(sequence, attributes, data) VALUES (?, ?, ?)').run(
    event.sequence,
    encodeAttributes(event),
    event.data,
  )
}

test('an event is read with what was known of it when it was stored', () => {
  const archive = memoryArchive(known)
  expect(archive.committed(0, 10)).toEqual(known)
  const provenance = {
    foundBy: 'sweep',
    committedMs: START_MS + 5,
    topics: ['fca.FR'],
    journey: 'sent=412 scan=gap_retry later=1',
  }
  expect(found(archive, 'a')).toEqual({ sequence: 1, replacedBy: 'b', ...provenance })
})

test.each([0, 1])(
  'events that a build without provenance wrote after event %i have none, and are found by id and replacement',
  (done) => {
    using directory = temporaryDirectory()
    const path = join(directory.path, 'bridge.db')
    const open = () => openArchive({ path, nativeKind: 'Native', durable: false })
    const written = open()
    written.append(events)
    written.close()
    asWrittenByOlderBuild(path, done)
    const opened = open()
    expect(found(opened, 'a')).toEqual({ sequence: 1, replacedBy: 'b' })
    expect(found(opened, 'gap:g:opened')).toMatchObject({ sequence: 3 })
    expect(opened.committed(0, 10)).toEqual(events)
    opened.close()
  },
)

test('the statement of a build without provenance still writes events, which have none', () => {
  const archive = memoryArchive(known)
  const [next] = inPlace([eventWith({ headline: 'later' }, 'c')], 4)
  if (next === undefined) throw new Error('no event')
  appendAsOlderBuild(archive, next)
  const row = archive.db.prepare(`SELECT ${COLUMNS.join(', ')} FROM events WHERE sequence = 4`).get()
  expect(row).toEqual({ found_by: null, committed_ms: null, topics: null, journey: null })
})

test('what only a later build knows of an event reads as unknown', () => {
  const archive = memoryArchive(known)
  archive.db.exec("UPDATE events SET found_by = 'telepathy'")
  expect(found(archive, 'b')).not.toHaveProperty('foundBy')
})
