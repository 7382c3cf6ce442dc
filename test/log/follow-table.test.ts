import { expect, test } from 'vitest'
import { followTable } from '../../src/log/follow-table.ts'
import type { Change, Table } from '../../src/log/tables.ts'
import { until } from '../support/http/api-server.ts'
import { createMemoryLog } from '../support/memory-log.ts'

/** Follows that table; `seen` collects rows and the end of loading, in order. */
function follow(table: Table<number>) {
  const stop = new AbortController()
  const seen: (string | Change<number>)[] = []
  const reader = {
    onChange: (change: Change<number>) => void seen.push(change),
    onLoaded: () => void seen.push('loaded'),
  }
  return { seen, stop, running: followTable(table, reader, stop.signal) }
}

test('rows are reported first, then the end of loading, then every change, until the signal aborts', async () => {
  const log = createMemoryLog()
  const table = log.table<number>('t')
  await table.put('a', 1)
  const { seen, stop, running } = follow(table)
  await until(() => seen.includes('loaded'))
  await table.put('b', 2)
  await table.delete('a')
  await until(() => seen.length === 4)
  expect(seen).toEqual([{ key: 'a', value: 1 }, 'loaded', { key: 'b', value: 2 }, { key: 'a', value: null }])
  stop.abort()
  await running
})

test('a change during loading is reported after the rows', async () => {
  const table = createMemoryLog().table<number>('t')
  const load = async () => {
    const rows = await table.load()
    await table.put('a', 1)
    return rows
  }
  const { seen, stop, running } = follow({ ...table, load })
  await until(() => seen.length === 2)
  expect(seen).toEqual(['loaded', { key: 'a', value: 1 }])
  stop.abort()
  await running
})

test('a stop does not wait for an unavailable log', async () => {
  const table = createMemoryLog().table<number>('t')
  const { seen, stop, running } = follow({ ...table, load: () => new Promise(() => {}) })
  stop.abort()
  await running
  expect(seen).toEqual([])
})
