import { expect, test } from 'vitest'
import { encodeCursor } from '../../../src/core/cursor.ts'
import { HOUR_MS, MINUTE_MS } from '../../../src/core/durations.ts'
import { systemClock } from '../../../src/lifecycle/clock.ts'
import {
  type DeliveryRow,
  positionKey,
  retryKey,
} from '../../../src/webhooks/delivery-state/delivery-rows.ts'
import { loadEndpoint } from '../../../src/webhooks/delivery-state/endpoint-load.ts'
import { createScriptedReader } from '../../support/streams/scripted-reader.ts'

const OLD = 'before01'
const START_MS = Date.parse('2026-01-06T07:00:00Z')
const timeOf = (sequence: number): number => START_MS + sequence * MINUTE_MS
const cursorOf = (sequence: number, epoch = OLD): string =>
  encodeCursor({ epoch, sequence, timeMs: timeOf(sequence) })

/** A log of 100 events, one a minute, that has shared the first `shared` with the epoch before a restore. */
function restored(shared: number | null) {
  let nowMs = 0
  const { reader, add } = createScriptedReader({ ...systemClock, now: () => nowMs })
  for (let sequence = 1; sequence <= 100; sequence++) {
    nowMs = timeOf(sequence)
    add({})
  }
  return { ...reader, sharedThrough: (epoch: string) => (epoch === OLD ? shared : null) }
}

const position = (sequence: number): [string, DeliveryRow] => [
  positionKey('ep_1'),
  { kind: 'position', cursor: cursorOf(sequence), ahead: [], failingSinceMs: null },
]
const waiting = (sequence: number): [string, DeliveryRow] => [
  retryKey('ep_1', sequence),
  {
    kind: 'retry',
    ...{ cursor: cursorOf(sequence), eventId: 'a', subject: 'a', recordedMs: 0 },
    ...{ tries: 1, dueMs: 0, lastStatus: 500 },
  },
]

test('after a restore an endpoint repeats an hour, but nothing from before its start', () => {
  const load = (start: number, rows: [string, DeliveryRow][], shared: number | null = 90) =>
    loadEndpoint(cursorOf(start), rows, { reader: restored(shared), nowMs: timeOf(100) + HOUR_MS }).base
  expect(load(5, [position(85)])).toBe(24)
  expect(load(40, [position(85)])).toBe(40)
  expect(load(40, [])).toBe(40)
  // A delivery of a replay waited, of an event before the start.
  expect(load(40, [position(85), waiting(30)])).toBe(29)
  expect(load(40, [position(85), waiting(60)])).toBe(40)
  // The start may lie in what the restored log never had.
  expect(load(95, [position(97)])).toBe(36)
  expect(load(40, [position(85)], null)).toBe(24)
})
