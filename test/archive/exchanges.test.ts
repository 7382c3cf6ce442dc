import { expect, test } from 'vitest'
import { createExchangeReplica, type ExchangeRecord, LIST_KEY } from '../../src/archive/exchanges.ts'
import { until } from '../support/http/api-server.ts'
import { createMemoryLog } from '../support/memory-log.ts'

test('the replica has the table’s rows and later changes, those of an older build without their time', async () => {
  const table = createMemoryLog().table<ExchangeRecord>('exchanges')
  const replica = createExchangeReplica(table)
  const stop = new AbortController()
  await table.put('XNYS', { kind: 'exchange', listed: 'n', detail: 'd' })
  await table.put('XPAR', { kind: 'exchange', listed: 'p' })
  const running = replica.run(stop.signal)
  await until(() => replica.detail('XNYS') !== null)
  expect([replica.list(), replica.detail('XNYS'), replica.detail('XPAR')]).toEqual([
    null,
    { detail: 'd', readMs: null },
    null,
  ])
  const list = { entries: [{ mic: 'XNYS', text: 'n' }], readMs: 7 }
  await table.put(LIST_KEY, { kind: 'list', ...list })
  await table.put('XPAR', { kind: 'exchange', listed: 'p', detail: null, readMs: 8 })
  await table.delete('XNYS')
  await until(() => replica.detail('XNYS') === null)
  expect(replica.list()).toMatchObject(list)
  expect(replica.detail('XPAR')).toEqual({ detail: null, readMs: 8 })
  stop.abort()
  await running
})
