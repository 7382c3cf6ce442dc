import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { decodeCursor } from '../../../src/core/cursor.ts'
import { isoMillis } from '../../../src/core/dates.ts'
import { AMENDED, type Committed, PUBLISHED } from '../../../src/core/event.ts'
import { waysFound } from '../../../src/core/purpose.ts'
import { rejectedHash } from '../../../src/log/events.ts'
import type { KafkaRecord } from '../../../src/log-kafka/client/partition-protocol.ts'
import {
  eventOf,
  eventRecord,
  type NewRecord,
  recordOfAll,
  rejectedHashOf,
  rejectedOf,
  rejectedRecord,
  sequenceOf,
} from '../../../src/log-kafka/client/records.ts'

/** Text that an event can contain: no lone surrogate. */
const text = fc.string({ minLength: 1, unit: 'grapheme' })

const someEvent: fc.Arbitrary<Committed> = fc
  .record({
    id: text,
    source: fc.constant('/disclosures/sources/rns'),
    type: fc.constantFrom(PUBLISHED, AMENDED),
    timeMs: fc.integer({ min: 0, max: 4e12 }),
    time: fc.constant(''),
    subject: text,
    recordedtime: fc.constant('2026-01-06T07:00:00.000Z'),
    late: fc.boolean(),
    replacesid: fc.option(text),
    data: fc.object().map((data) => JSON.stringify(data)),
    sequence: fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }),
    epoch: fc.stringMatching(/^[A-Za-z0-9]{8}$/),
    isAhead: fc.boolean(),
  })
  .map(({ isAhead, ...event }) =>
    isAhead
      ? { ...event, time: '9999-12-31T23:59:59Z', aheadof: isoMillis(event.timeMs) }
      : { ...event, time: isoMillis(event.timeMs) },
  )

/** When the broker appended the records. */
const APPENDED_MS = 1_767_682_800_000

/** The record as a consumer receives it. */
function sent({ key, value, headers = {} }: NewRecord): KafkaRecord {
  const bytes = Object.entries(headers).map(([name, given]) => [name, Buffer.from(given)] as const)
  return {
    offset: 7,
    timestampMs: APPENDED_MS,
    key: key === null ? null : Buffer.from(key),
    value: value === null ? null : Buffer.from(value),
    headers: Object.fromEntries(bytes),
  }
}

describe('the record of an event', () => {
  it('decodes to the event', () => {
    fc.assert(
      fc.property(someEvent, (event) => {
        expect(eventOf(sent(eventRecord(event, 1)))).toEqual({ ...event, committedMs: APPENDED_MS })
      }),
    )
  })

  it('of all events also says how its item was found, by which request, and which topics hold it; an unknown way reads as none', () => {
    fc.assert(
      fc.property(someEvent, fc.constantFrom(...waysFound), (event, foundBy) => {
        const journey = 'sent=412 scan=gap_retry'
        const record = recordOfAll({ ...event, foundBy, journey }, ['fca.FR', 'native._other'])
        const stored = { ...event, journey, topics: ['fca.FR', 'native._other'], committedMs: APPENDED_MS }
        expect(eventOf(sent(record))).toEqual({ ...stored, foundBy })
        const later = { ...record, headers: { ...record.headers, foundby: 'telepathy' } }
        expect(eventOf(sent(later))).toEqual(stored)
      }),
    )
  })

  it('in every topic has the trace of the poll that brought it, where there is one', () => {
    fc.assert(
      fc.property(someEvent, (event) => {
        const trace = '4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7'
        const traced = { ...event, journey: `sent=412 trace=${trace}` }
        for (const record of [eventRecord(traced, 1), recordOfAll(traced, [])])
          expect(record.headers?.traceparent).toBe(`00-${trace}-01`)
        expect(eventRecord({ ...event, journey: 'sent=412' }, 1).headers).not.toHaveProperty('traceparent')
        const untold = eventOf(sent(eventRecord(traced, 1)))
        expect({ ...untold, journey: undefined }).toEqual({ ...event, committedMs: APPENDED_MS })
      }),
    )
  })

  it('holds the position to resume at, and its number within its topic', () => {
    fc.assert(
      fc.property(someEvent, fc.nat(), (event, topicSequence) => {
        const { headers = {} } = eventRecord(event, topicSequence)
        const { epoch, sequence, timeMs } = event
        expect(decodeCursor(headers.ce_cursor ?? '')).toEqual({ epoch, sequence, timeMs })
        expect(headers.ce_topicsequence).toBe(String(topicSequence))
      }),
    )
  })

  it('of a foreign producer is no event; one that lacks something is damage, with the remedy', () => {
    const foreign: KafkaRecord = {
      offset: 3,
      timestampMs: 0,
      key: null,
      value: Buffer.from('{}'),
      headers: { traceparent: Buffer.from('a') },
    }
    expect([eventOf(foreign), sequenceOf(foreign)]).toEqual([null, null])
    const cut = { ...foreign, headers: { ce_id: Buffer.from('a') } }
    expect(() => sequenceOf(cut)).toThrow('record 3 of the log has no sequence')
    expect(() => eventOf(cut)).toThrow(
      expect.objectContaining({
        code: 'log_damaged',
        message: expect.stringContaining('record 3'),
        hint: expect.stringContaining('BRIDGE_TOPIC_PREFIX'),
      }),
    )
  })
})

describe('the record of a rejected item', () => {
  it('of limited size keeps whole characters, says what is missing, and is recognised by all of its text', () => {
    const item = { raw: 'aé€😀z', reason: 'no guid', guid: null, recordedtime: '' }
    const kept = (mostBytes: number) => rejectedOf(sent(rejectedRecord(item, mostBytes)))
    expect([1, 2, 3, 5, 6, 9, 10, 11].map((bytes) => kept(bytes).raw)).toEqual([
      'a',
      'a',
      'aé',
      'aé',
      'aé€',
      'aé€',
      'aé€😀',
      'aé€😀z',
    ])
    expect(kept(3).reason).toMatch(/^no guid; only its first 3 of 11 bytes are kept/)
    expect(kept(11).reason).toBe('no guid')
    for (const bytes of [3, 11]) {
      expect(rejectedHashOf(sent(rejectedRecord(item, bytes)))).toBe(rejectedHash(item.raw))
    }
  })

  it('decodes to the item', () => {
    const someItem = fc.record({ raw: text, reason: text, guid: fc.option(text), recordedtime: text })
    fc.assert(
      fc.property(someItem, (item) => {
        expect(rejectedOf(sent(rejectedRecord(item)))).toEqual(item)
      }),
    )
  })
})
