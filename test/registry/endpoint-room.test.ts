import { expect, test } from 'vitest'
import { MAX_ENDPOINT_BYTES_PER_TENANT, roomRefusal } from '../../src/registry/endpoint-room.ts'

const one = { count: 1, bytes: 1000 } as const
const nothing = { count: 0, bytes: 0 } as const

test('tenants together have at most 20,000 endpoints; deleting one makes room for one', () => {
  const present = Array.from({ length: 20_000 }, (_, at) => ({ tenant: `t${at % 20}`, bytes: 1000 }))
  expect(roomRefusal(present, { tenant: 't0', ...one })).toBe('tenant_full')
  expect(roomRefusal(present, { tenant: 'new', ...one })).toBe('full')
  expect(roomRefusal(present.slice(1), { tenant: 'new', ...one })).toBeNull()
})

test('tenants together have at most 256 MiB of endpoints; a change that shrinks one is never refused', () => {
  const bytes = MAX_ENDPOINT_BYTES_PER_TENANT
  const present = Array.from({ length: 16 }, (_, at) => ({ tenant: `t${at}`, bytes }))
  expect(roomRefusal(present, { tenant: 'new', ...one })).toBe('full')
  expect(roomRefusal(present, { ...nothing, tenant: 't0', bytes: 1 })).toBe('tenant_full')
  expect(roomRefusal(present, { ...nothing, tenant: 't0', bytes: -1 })).toBeNull()
  expect(roomRefusal(present, { ...nothing, tenant: 't0' })).toBeNull()
})
