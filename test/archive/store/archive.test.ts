import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { eventsBetween } from '../../../src/archive/reading/query.ts'
import { NO_EPOCH } from '../../../src/archive/store/archive.ts'
import { decodeCursor } from '../../../src/core/cursor.ts'
import { isoMillis } from '../../../src/core/dates.ts'
import { contentHash } from '../../../src/core/disclosure.ts'
import { cursorOf, encodeAttributes, joinEvent } from '../../../src/core/event.ts'
import { EPOCH, eventWith, gapAt, inPlace, items, memoryArchive, START_MS } from '../samples.ts'

describe('an archive', () => {
  it('has no epoch and position zero while it is empty', () => {
    const archive = memoryArchive()
    expect([archive.epoch, archive.oldest, archive.latest]).toEqual([null, 1, 0])
    expect(decodeCursor(archive.cursorAt(0))).toEqual({ epoch: NO_EPOCH, sequence: 0, timeMs: 0 })
    expect(archive.sequenceSince(0)).toBe(0)
    expect(archive.known(['a']).size).toBe(0)
  })

  it('returns every event as it was committed', () => {
    const odd = {
      ...eventWith({ headline: 'Ünï “q” \u2028' }, 'g'),
      late: true,
      replacesid: 'r',
      subject: 's"\n',
    }
    const events = inPlace([odd, gapAt('one', START_MS), ...items(3)])
    const archive = memoryArchive(events)
    expect(archive.committed(0, 10)).toEqual(events)
    expect(archive.committed(1, 2)).toEqual(events.slice(1, 3))
  })

  it('places an event that is stamped ahead at the present of its `aheadof`, and lists its item at its own time', () => {
    const [first, second, third] = items(3)
    if (first === undefined || second === undefined || third === undefined) throw new Error('no event')
    const time = '9999-12-31T23:59:59Z'
    const aheadof = isoMillis(second.timeMs)
    const data = JSON.stringify({ ...(JSON.parse(second.data) as object), timestamp: time })
    const events = inPlace([first, { ...second, time, aheadof, data }, third])
    const archive = memoryArchive(events)
    expect(archive.committed(0, 10)).toEqual(events)
    expect(archive.sequenceSince(third.timeMs)).toBe(2)
    expect(archive.sequenceSince(third.timeMs + 1)).toBe(3)
    expect(decodeCursor(archive.cursorAt(2)).timeMs).toBe(second.timeMs)
    const listed = archive.db
      .prepare<{ time_ms: number }>('SELECT time_ms FROM items WHERE sequence = 2')
      .get()
    expect(listed?.time_ms).toBe(Date.parse(time))
  })

  it('returns each event as one line of JSON with its facts, times and cursor', () => {
    const event = inPlace([eventWith({ headline: 'Final Results', fca: ['FR'] }, 'g')])[0]
    if (event === undefined) throw new Error('no event')
    const [stored] = eventsBetween(memoryArchive([event]), 0, 1)
    expect(stored?.json.toString()).toBe(joinEvent(encodeAttributes(event), event.data))
    expect(stored).toMatchObject({
      sequence: 1,
      type: event.type,
      timeMs: START_MS,
      recordedMs: START_MS + 1000,
    })
    expect(stored?.facts).toMatchObject({ kind: 'published', headline: 'final results', fca: ['FR'] })
    expect(stored?.cursor).toBe(cursorOf(event))
  })

  it('knows the latest revision of each guid by the hash of its content', () => {
    const first = eventWith({ headline: 'one' }, 'g')
    const second = eventWith({ kind: 'amended', headline: 'two' }, 'g')
    const archive = memoryArchive(inPlace([first, second, eventWith({}, 'h')]))
    const known = archive.known(['g', 'h', 'missing'])
    expect(known.get('g')).toEqual({ revision: 2, hash: contentHash(JSON.parse(second.data)) })
    expect(known.get('h')?.revision).toBe(1)
    expect(known.has('missing')).toBe(false)
  })

  it('can start at any sequence, like a log that dropped its oldest events', () => {
    const archive = memoryArchive(inPlace(items(2), 41))
    expect([archive.oldest, archive.latest]).toEqual([41, 42])
    expect(decodeCursor(archive.cursorAt(40))).toEqual({ epoch: EPOCH, sequence: 40, timeMs: START_MS })
  })

  it.each([
    ['a hole in the sequence', inPlace(items(1), 4)],
    ['a sequence that is there already', inPlace(items(1), 2)],
    ['another epoch', inPlace(items(1), 3, 'Epoch002')],
    ['an event that holds no disclosure', inPlace([{ ...eventWith({}, 'g'), data: '{}' }], 3)],
  ])('rejects %s and adds nothing of that batch', (_, wrong) => {
    const archive = memoryArchive(inPlace(items(2)))
    const batch = [...(wrong[0]?.sequence === 4 ? inPlace(items(1), 3).slice(1) : []), ...wrong]
    expect(() => archive.append(batch)).toThrow(expect.objectContaining({ code: 'log_damaged' }))
    expect(archive.latest).toBe(2)
    expect(archive.committed(0, 10)).toHaveLength(2)
    archive.append(inPlace(items(1), 3))
    expect(archive.latest).toBe(3)
  })

  it('stores nothing of a batch whose last event is rejected', () => {
    const archive = memoryArchive()
    const [first, second] = inPlace(items(2))
    if (first === undefined || second === undefined) throw new Error('no events')
    expect(() => archive.append([first, { ...second, sequence: 5 }])).toThrow('must be consecutive')
    expect([archive.epoch, archive.latest]).toEqual([null, 0])
  })

  it('is empty after it was cleared, and accepts another epoch', () => {
    const archive = memoryArchive(inPlace(items(3)))
    archive.clear()
    expect([archive.epoch, archive.oldest, archive.latest]).toEqual([null, 1, 0])
    archive.append(inPlace(items(2), 1, 'Epoch002'))
    expect([archive.epoch, archive.latest, archive.sequenceSince(START_MS + 500)]).toEqual(['Epoch002', 2, 1])
  })

  it('finds the position before the lowest sequence at or after any moment', () => {
    const time = fc.integer({ min: 0, max: 50 })
    fc.assert(
      fc.property(fc.array(fc.tuple(time, fc.boolean()), { maxLength: 30 }), time, (times, askedMs) => {
        const events = inPlace(
          times.map(([ms, isGap], index) => (isGap ? gapAt(`${index}`, ms) : eventWith({}, `g${index}`, ms))),
        )
        const archive = memoryArchive(events)
        const lowest = events.find((event) => event.timeMs >= askedMs)
        expect(archive.sequenceSince(askedMs)).toBe(
          lowest === undefined ? events.length : lowest.sequence - 1,
        )
        archive.close()
      }),
    )
  })
})
