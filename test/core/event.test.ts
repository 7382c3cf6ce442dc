import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { decodeCursor } from '../../src/core/cursor.ts'
import type { Disclosure } from '../../src/core/disclosure.ts'
import type { Committed, Gap, NewEvent } from '../../src/core/event.ts'
import {
  AMENDED,
  cursorOf,
  dataBytes,
  disclosureEvent,
  encodeAttributes,
  GAP_FILLED,
  GAP_GIVEN_UP,
  GAP_OPENED,
  gapEvent,
  isGap,
  joinEvent,
  PUBLISHED,
  revisionOf,
} from '../../src/core/event.ts'

const disclosure: Disclosure = {
  guid: 'urn:newsml:example.com:20260701:1234A:1',
  timestamp: '2026-07-01T06:00:01.123456Z',
  timeMs: Date.parse('2026-07-01T06:00:01.123Z'),
  headline: 'Final Results',
  issuer: { name: 'A plc', lei: null, isin: 'GB00BH4HKS39', symbol: 'AAA' },
  related: [],
  categories: [],
  replacesGuid: null,
}
const held = {
  data: '{"guid":"x"}',
  revision: 1,
  recordedMs: Date.parse('2026-07-01T06:00:02.5Z'),
  late: false,
}

const gap: Gap = {
  id: '7',
  from: '2026-07-01T06:00:00.000Z',
  to: '2026-07-01T06:05:00.000Z',
  cause: 'overflow',
  openedAt: '2026-07-01T06:05:01.000Z',
  found: 3,
  closedAt: null,
}

function committed(event: NewEvent): Committed {
  return { ...event, sequence: 42, epoch: 'Abcd1234' }
}

function written(event: NewEvent): Record<string, unknown> {
  return JSON.parse(joinEvent(encodeAttributes(committed(event)), event.data))
}

describe('the event of a disclosure', () => {
  test('has exactly the attributes of the contract, absent ones left out', () => {
    const event = disclosureEvent(disclosure, held)
    expect(written(event)).toEqual({
      specversion: '1.0',
      id: disclosure.guid,
      source: '/disclosures/sources/rns',
      type: 'disclosure.published.v1',
      time: '2026-07-01T06:00:01.123456Z',
      subject: 'GB00BH4HKS39',
      sequence: '00000000000000000042',
      epoch: 'Abcd1234',
      cursor: cursorOf(committed(event)),
      recordedtime: '2026-07-01T06:00:02.500Z',
      datacontenttype: 'application/json',
      data: { guid: 'x' },
    })
  })

  test('has the replaced id and the late flag as strings', () => {
    const event = disclosureEvent({ ...disclosure, replacesGuid: 'before' }, { ...held, late: true })
    expect(written(event)).toMatchObject({ late: 'true', replacesid: 'before' })
  })

  test('of a later revision is amended, with the revision in its id', () => {
    const event = disclosureEvent(disclosure, { ...held, revision: 3 })
    expect(event).toMatchObject({ type: AMENDED, id: `${disclosure.guid}#3` })
    expect(revisionOf(event.id, disclosure.guid)).toBe(3)
    expect(revisionOf(disclosure.guid, disclosure.guid)).toBe(1)
  })

  test('contains the item as received, byte for byte', () => {
    const data = '{"guid":"x", "b":1.0,"a":1e400,"s":"\\ud800"}'
    const event = disclosureEvent(disclosure, { ...held, data })
    expect(joinEvent(encodeAttributes(committed(event)), event.data)).toContain(`,"data":${data}}`)
  })

  test('gives its data back as bytes, whatever its attributes hold', () => {
    fc.assert(
      fc.property(fc.string(), fc.jsonValue(), (guid, value) => {
        const data = JSON.stringify({ value })
        const event = disclosureEvent({ ...disclosure, guid: `${guid},"data":` }, { ...held, data })
        const json = Buffer.from(joinEvent(encodeAttributes(committed(event)), event.data))
        expect(dataBytes(json).toString()).toBe(data)
      }),
    )
    expect(dataBytes(Buffer.from('{}'))).toHaveLength(0)
  })

  test('has a cursor that points just after it', () => {
    expect(decodeCursor(cursorOf(committed(disclosureEvent(disclosure, held))))).toEqual({
      epoch: 'Abcd1234',
      sequence: 42,
      timeMs: disclosure.timeMs,
    })
  })

  test('is written on one line', () => {
    const event = disclosureEvent({ ...disclosure, guid: 'a\nb', replacesGuid: '\u2028' }, held)
    const text = joinEvent(encodeAttributes(committed(event)), event.data)
    expect(text).not.toContain('\n')
    expect(JSON.parse(text)).toMatchObject({ id: 'a\nb' })
  })
})

describe('the event of a gap', () => {
  const atMs = Date.parse('2026-07-01T06:10:00Z')

  test.each([
    [GAP_OPENED, 'bridge.gap.opened.v1', 'gap:7:opened'],
    [GAP_FILLED, 'bridge.gap.filled.v1', 'gap:7:filled'],
    [GAP_GIVEN_UP, 'bridge.gap.given_up.v1', 'gap:7:given_up'],
  ] as const)('%s', (type, name, id) => {
    expect(written(gapEvent(gap, type, { timeMs: atMs, recordedMs: atMs + 1000 }))).toMatchObject({
      type: name,
      id,
      source: '/bridge',
      time: '2026-07-01T06:10:00.000Z',
      recordedtime: '2026-07-01T06:10:01.000Z',
      datacontenttype: 'application/json',
      data: gap,
    })
  })

  test('differs from a disclosure by its type', () => {
    expect([GAP_OPENED, GAP_FILLED, GAP_GIVEN_UP].every(isGap)).toBe(true)
    expect([PUBLISHED, AMENDED].some(isGap)).toBe(false)
  })
})

test('a time that CloudEvents does not allow becomes the same moment in RFC 3339', () => {
  const odd = { ...disclosure, timestamp: '2026-07-01 06:00:01' }
  expect(disclosureEvent(odd, held).time).toBe('2026-07-01T06:00:01.123Z')
  expect(disclosureEvent(disclosure, held).time).toBe(disclosure.timestamp)
})
