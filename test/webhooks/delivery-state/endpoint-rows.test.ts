import { expect, test } from 'vitest'
import { encodeCursor } from '../../../src/core/cursor.ts'
import { type DeliveryRow, deadKey, positionKey } from '../../../src/webhooks/delivery-state/delivery-rows.ts'
import { EndpointRows, rowsByEndpoint } from '../../../src/webhooks/delivery-state/endpoint-rows.ts'
import { liveBytes } from '../../support/live-bytes.ts'

const EPOCH = 'abcdefgh'
const cursorOf = (sequence: number): string =>
  encodeCursor({ epoch: EPOCH, sequence, timeMs: 1_700_000_000_000 + sequence })
const dead = (sequence: number): DeliveryRow => ({
  kind: 'dead',
  cursor: cursorOf(sequence),
  eventId: `urn:newsml:example:${sequence}`,
  tries: 9,
  lastStatus: 500,
  cause: 'tries',
  diedAtMs: 1_700_000_000_000 + sequence,
})
const position: DeliveryRow = { kind: 'position', cursor: cursorOf(9), ahead: [], failingSinceMs: null }

test('keeps rows, and of a dead one its place', () => {
  const rows = new EndpointRows('ep_1')
  rows.set(positionKey('ep_1'), position)
  for (const sequence of [3, 5]) rows.set(deadKey('ep_1', sequence), dead(sequence))
  rows.set(deadKey('ep_1', 5), dead(5))
  expect(rows.keys()).toEqual(['ep_1/position', 'ep_1/dead/3', 'ep_1/dead/5'])
  expect(new Map(rows).get('ep_1/dead/5')).toMatchObject({ kind: 'dead', cursor: cursorOf(5) })
  rows.delete('ep_1/dead/3')
  rows.delete('ep_1/dead/4')
  rows.delete('ep_1/retry/5')
  expect([rows.size, rows.keys()]).toEqual([2, ['ep_1/position', 'ep_1/dead/5']])
  rows.delete('ep_1/dead/5')
  rows.delete('ep_1/position')
  expect(rows.size).toBe(0)
})

/** Ten thousand dead deliveries of each of ten endpoints. */
function manyDead(): Map<string, DeliveryRow> {
  const all = new Map<string, DeliveryRow>()
  for (let endpoint = 0; endpoint < 10; endpoint++) {
    for (let sequence = 1; sequence <= 10_000; sequence++)
      all.set(deadKey(`ep_${endpoint}`, sequence), dead(sequence))
  }
  return all
}

test('ten thousand dead deliveries of ten endpoints take less than 150 bytes each', async () => {
  const before = await liveBytes()
  // What was read is not referred to here: rows kept whole would count.
  const groups = rowsByEndpoint(manyDead())
  const each = ((await liveBytes()) - before) / 100_000
  expect([groups.size, each < 150, each > 10]).toEqual([10, true, true])
})
