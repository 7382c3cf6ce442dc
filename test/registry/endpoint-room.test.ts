import { expect, test } from 'vitest'
import { createRoom, MAX_ENDPOINT_BYTES_PER_TENANT } from '../../src/registry/endpoint-room.ts'

const one = { count: 1, bytes: 1000 } as const

test('tenants together have 20,000 endpoints, whoever they are; one that goes makes room for one', () => {
  const room = createRoom()
  for (let tenant = 0; tenant < 20; tenant += 1) {
    for (let count = 0; count < 1000; count += 1) room.take({ tenant: `t${tenant}`, ...one })
  }
  expect(room.refusal({ tenant: 't0', ...one })).toBe('tenant_full')
  expect(room.refusal({ tenant: 'new', ...one })).toBe('full')
  room.take({ tenant: 't0', count: -1, bytes: -1000 })
  expect(room.refusal({ tenant: 'new', ...one })).toBeNull()
})

test('tenants together have 256 MiB, however few endpoints; what shrinks is never refused', () => {
  const room = createRoom()
  for (let tenant = 0; tenant < 16; tenant += 1) {
    room.take({ tenant: `t${tenant}`, count: 1, bytes: MAX_ENDPOINT_BYTES_PER_TENANT })
  }
  expect(room.refusal({ tenant: 'new', ...one })).toBe('full')
  expect(room.refusal({ tenant: 't0', count: 0, bytes: 1 })).toBe('tenant_full')
  expect(room.refusal({ tenant: 't0', count: 0, bytes: -1 })).toBeNull()
  expect(room.refusal({ tenant: 't0', count: 0, bytes: 0 })).toBeNull()
})
