import { expect, test } from 'vitest'
import { attemptPage } from '../../../src/webhooks/attempts/attempt-record.ts'
import { AttemptStore } from '../../../src/webhooks/attempts/attempt-store.ts'
import { until } from '../../support/http/api-server.ts'
import { EPOCH } from '../../support/store.ts'
import { recordOf } from '../../support/webhooks/attempted.ts'
import { wantedEndpoint } from '../../support/webhooks/endpoints.ts'
import { historyWorld, NOW_MS } from './history-world.ts'

test('a file that is too large loses the oldest attempts of the tenant that has most', async () => {
  const world = await historyWorld()
  const made = await world.endpoints.create(wantedEndpoint({ tenant: 'small' }))
  const small = typeof made === 'string' ? '' : made.id
  const records = (endpointId: string, count: number, response: string | null) =>
    Array.from({ length: count }, (_, at) =>
      recordOf({
        endpointId,
        sequence: at + 1,
        atMs: NOW_MS - 4_000_000 + 1000 * at,
        outcome: 'server_error',
        response,
      }),
    )
  const unlike = records(world.id, 3000, '').map((record) => ({
    ...record,
    response: `${record.sequence} `.repeat(100),
  }))
  const all = [...unlike, ...records(small, 50, null)].sort((one, other) => one.atMs - other.atMs)
  for (let at = 0; at < all.length; at += 500)
    await world.journal.append([attemptPage(EPOCH, all.slice(at, at + 500))])
  const first = world.open()
  await until(() => first.sequences()[0] === 3000)
  await first.close()
  const maxBytes = 500_000
  const second = world.open(world.path, { maxBytes })
  const used = (): number => {
    const store = new AttemptStore({ path: world.path, durable: false, onDamage: () => undefined })
    const { usedBytes } = store
    store.close()
    return usedBytes
  }
  await until(() => used() < maxBytes)
  const kept = second.sequences()
  expect(second.sequences(small)).toHaveLength(50)
  expect([kept.length > 100, kept.length < 1000, kept[0]]).toEqual([true, true, 3000])
  expect(world.lines.filter(({ event }) => event === 'attempt_history.trimmed')[0]?.fields).toMatchObject({
    tenant: 'desk',
  })
  await second.close()
})
