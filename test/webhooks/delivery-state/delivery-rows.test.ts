import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { decodeCursor, encodeCursor } from '../../../src/core/cursor.ts'
import {
  type DeliveryRow,
  deadKey,
  endpointIdOf,
  positionKey,
  readDeliveryRow,
  replayKey,
  retryKey,
} from '../../../src/webhooks/delivery-state/delivery-rows.ts'

const cursorAt = (sequence: number) => encodeCursor({ epoch: 'Epoch001', sequence, timeMs: sequence * 1000 })
const count = fc.maxSafeNat()
const sequence = fc.integer({ min: 1, max: 999_999_999_999 })
const rising = fc.uniqueArray(count, { maxLength: 5 }).map((members) => members.sort((a, b) => a - b))
const status = fc.option(fc.integer({ min: 100, max: 599 }))

/** A key with a valid row for it. */
const keyed: fc.Arbitrary<{ key: string; place: string; row: DeliveryRow }> = fc.oneof(
  fc.record({ sequence, ahead: rising, failingSinceMs: fc.option(count) }).map(({ sequence, ...rest }) => ({
    key: positionKey('ep_1'),
    place: '',
    row: { kind: 'position' as const, cursor: cursorAt(sequence), ...rest },
  })),
  fc
    .record({
      sequence,
      eventId: fc.string(),
      subject: fc.string(),
      recordedMs: count,
      tries: count,
      dueMs: count,
      lastStatus: status,
    })
    .map(({ sequence, ...rest }) => ({
      key: retryKey('ep_1', sequence),
      place: String(sequence),
      row: { kind: 'retry' as const, cursor: cursorAt(sequence), ...rest },
    })),
  fc
    .record({
      sequence,
      eventId: fc.string(),
      tries: count,
      lastStatus: status,
      cause: fc.constantFrom('tries' as const, 'dropped' as const),
      diedAtMs: count,
    })
    .map(({ sequence, ...rest }) => ({
      key: deadKey('ep_1', sequence),
      place: String(sequence),
      row: { kind: 'dead' as const, cursor: cursorAt(sequence), ...rest },
    })),
  fc
    .record({
      sequence,
      ahead: rising,
      until: count,
      only: fc.oneof(fc.option(rising), fc.constant('dead' as const)),
      createdAtMs: count,
    })
    .map(({ sequence, ...rest }) => ({
      key: replayKey('ep_1', 'rp_7'),
      place: 'rp_7',
      row: { kind: 'replay' as const, cursor: cursorAt(sequence), ...rest },
    })),
)

describe('a delivery row', () => {
  test('decodes from its JSON to exactly what was written', () => {
    fc.assert(
      fc.property(keyed, ({ key, place, row }) => {
        const stored = JSON.parse(JSON.stringify({ ...row, ofLater: 1 }))
        expect(readDeliveryRow(key, stored)).toEqual({
          key,
          endpointId: 'ep_1',
          place,
          row,
          cursor: decodeCursor(row.cursor),
        })
        expect(endpointIdOf(key)).toBe('ep_1')
      }),
    )
  })

  test('with a missing or malformed field is reported as damage that names the field', () => {
    fc.assert(
      fc.property(keyed, fc.nat(), fc.constantFrom(undefined, -1, 0.5, 'no', [2, 1], {}), (good, at, bad) => {
        const names = Object.keys(good.row).filter(
          (name) => !['kind', 'eventId', 'subject', 'cause'].includes(name),
        )
        const name = names[at % names.length] ?? ''
        const stored = JSON.parse(JSON.stringify({ ...good.row, [name]: bad }))
        expect(() => readDeliveryRow(good.key, stored)).toThrow(
          expect.objectContaining({ code: 'log_damaged', message: expect.stringContaining(good.key) }),
        )
      }),
    )
  })

  test.each([
    ['of another event', retryKey('ep_1', 2), { cursor: cursorAt(1) }],
    ['under a key that nobody writes', 'ep_1/retry/02', {}],
    ['without an endpoint', '/position', {}],
    ['that is no object', positionKey('ep_1'), 'text'],
  ])('%s is damage', (_what, key, changes) => {
    const retry = {
      eventId: 'e',
      subject: 's',
      recordedMs: 0,
      tries: 1,
      dueMs: 1,
      lastStatus: null,
      cursor: cursorAt(2),
    }
    const stored = typeof changes === 'string' ? changes : { ...retry, ...changes }
    expect(() => readDeliveryRow(key, stored)).toThrow(expect.objectContaining({ code: 'log_damaged' }))
  })
})
