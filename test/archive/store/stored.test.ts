import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { storedEvent, storedRange } from '../../../src/archive/store/stored.ts'
import { EPOCH, eventWith, gapAt, inPlace, memoryArchive, plainFacts, START_MS } from '../samples.ts'

/** Headlines whose characters take one to four bytes; null = a gap. */
const someLog = fc.array(fc.option(fc.string({ unit: 'grapheme', maxLength: 20 })), {
  minLength: 1,
  maxLength: 20,
})

describe('a run of events', () => {
  test('gives each event the same text and facts as when read one by one, for any range', () => {
    fc.assert(
      fc.property(someLog, fc.nat(20), fc.nat(20), (headlines, after, through) => {
        const events = inPlace(
          headlines.map((headline, index) =>
            headline === null
              ? gapAt(`gap-${index}`, START_MS)
              : eventWith({ headline, fca: ['FR'] }, `guid-${index}`),
          ),
        )
        const archive = memoryArchive(events)
        const run = storedRange(archive.db, { after, through }, EPOCH)
        const wanted = events.filter(({ sequence }) => sequence > after && sequence <= through)
        expect(run.map(({ sequence }) => sequence)).toEqual(wanted.map(({ sequence }) => sequence))
        for (const [index, event] of run.entries()) {
          const one = storedEvent(archive.db, event.sequence, EPOCH)
          expect(event.json.toString()).toBe(one?.json.toString())
          expect(JSON.parse(event.json.toString())).toMatchObject({ cursor: event.cursor })
          expect(event.facts).toEqual(one?.facts)
          expect(event.facts).toEqual(plainFacts(wanted[index] ?? ({} as never)))
        }
        archive.close()
      }),
      { numRuns: 60, endOnFailure: true },
    )
  })

  test('says when the log stored each event, or when the bridge first held it where that is not known', () => {
    const [one, other] = inPlace([eventWith({}, 'guid-1'), eventWith({}, 'guid-2')])
    if (one === undefined || other === undefined) throw new Error('two events were made')
    const archive = memoryArchive([{ ...one, committedMs: START_MS + 1234 }, other])
    const run = storedRange(archive.db, { after: 0, through: 2 }, EPOCH)
    expect(run.map(({ committedMs }) => committedMs)).toEqual([START_MS + 1234, run[1]?.recordedMs])
    expect(storedEvent(archive.db, 1, EPOCH)?.committedMs).toBe(START_MS + 1234)
    archive.close()
  })

  test('without events is empty', () => {
    const archive = memoryArchive([])
    expect(storedRange(archive.db, { after: 0, through: 9 }, EPOCH)).toEqual([])
    expect(storedEvent(archive.db, 1, EPOCH)).toBeUndefined()
    archive.close()
  })
})
