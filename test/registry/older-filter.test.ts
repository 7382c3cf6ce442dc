import { expect, test } from 'vitest'
import type { Filter } from '../../src/core/filter/filter.ts'
import { type EndpointRow, readEndpointRow, storedEndpointRow } from '../../src/registry/endpoint-rows.ts'
import { wantedEndpoint } from '../support/webhooks/endpoints.ts'

/** The kinds that the build before knows. */
const OLDER = ['published', 'amended', 'gap', 'webhook.disabled']

function rowWith(filter: Filter): EndpointRow {
  const { id: _, ...wanted } = wantedEndpoint({ filter })
  return { kind: 'endpoint', ...wanted, disabledReason: null, createdAtMs: 0 }
}

test.each<[name: string, filter: Filter]>([
  ['among others', { symbols: ['VOD'], types: ['gap', 'webhook.exhausted'] }],
  ['alone', { types: ['webhook.recovered'] }],
  ['in members', { filters: [{ types: ['webhook.exhausted', 'published'] }, { symbols: ['BP.'] }] }],
  ['in exclude', { exclude: { types: ['webhook.recovered'] } }],
  ['nowhere', { types: ['gap', 'webhook.disabled'] }],
])(
  'a filter with later kinds %s is stored so that the build before reads it, and comes back whole',
  (_, filter) => {
    const stored = JSON.parse(JSON.stringify(storedEndpointRow(rowWith(filter))))
    const kinds = JSON.stringify(stored.filter).match(/"(published|amended|gap|webhook\.\w+)"/g) ?? []
    expect(kinds.map((kind) => JSON.parse(kind)).filter((kind) => !OLDER.includes(kind))).toEqual([])
    expect(readEndpointRow(stored)?.filter).toEqual(filter)
  },
)

test('a filter that the build before has changed is what it wrote', () => {
  const { laterTypes: _, ...stored } = storedEndpointRow(rowWith({ types: ['webhook.exhausted'] }))
  expect(readEndpointRow({ ...stored, filter: { symbols: ['VOD'] } })?.filter).toEqual({ symbols: ['VOD'] })
})
