import { expect, test } from 'vitest'
import { createExchangeReplica, type ExchangeRecord, WALK_KEY } from '../../src/archive/exchanges.ts'
import { until } from '../support/http/api-server.ts'
import { createMemoryLog } from '../support/memory-log.ts'

test('the replica has the table’s rows and later changes in order, once a complete list was read', async () => {
  const table = createMemoryLog().table<ExchangeRecord>('exchanges')
  const replica = createExchangeReplica(table)
  const stop = new AbortController()
  await table.put('XNYS', { kind: 'exchange', listed: 'n' })
  const running = replica.run(stop.signal)
  await until(() => replica.exchange('XNYS') !== null)
  expect(replica.exchanges()).toBeNull()
  await table.put('XAMS', { kind: 'exchange', listed: 'a', detail: null })
  await table.put(WALK_KEY, { kind: 'walk', completedMs: null })
  await until(() => replica.exchanges() !== null)
  expect(replica.exchanges()).toEqual([
    { mic: 'XAMS', listed: 'a', detail: null },
    { mic: 'XNYS', listed: 'n' },
  ])
  await table.put('XNYS', { kind: 'exchange', listed: 'n', detail: 'd' })
  await table.delete('XAMS')
  await until(() => replica.exchange('XAMS') === null)
  expect(replica.exchanges()).toEqual([{ mic: 'XNYS', listed: 'n', detail: 'd' }])
  stop.abort()
  await running
})
