/**
 * Limits the number and size of endpoints, per tenant and in all: every node holds all of them in memory.
 */

/** Most endpoints of a tenant, and of all tenants together. */
export const MAX_ENDPOINTS_PER_TENANT = 1000
const MAX_ENDPOINTS = 20_000
/** Most bytes of the rows of a tenant's endpoints, and of all: filters of ten thousand identifiers have 230 KB. */
export const MAX_ENDPOINT_BYTES_PER_TENANT = 16 * 1024 * 1024
const MAX_ENDPOINT_BYTES = 256 * 1024 * 1024

/** What is used up: of the tenant, or of the bridge. */
export type NoRoom = 'tenant_full' | 'full'

/** One endpoint more, or one that takes another number of bytes; negative = fewer. */
export interface RoomChange {
  tenant: string
  count: -1 | 0 | 1
  bytes: number
}

/** The room that is left. */
export interface Room {
  /** Why there is no room for this change; null where there is. What makes room is never refused. */
  refusal(change: RoomChange): NoRoom | null
  /** Counts a change that was made, whether there was room for it or not. */
  take(change: RoomChange): void
}

/** Nothing is used. */
export function createRoom(): Room {
  const tenants = new Map<string, { count: number; bytes: number }>()
  const whole = { count: 0, bytes: 0 }
  const usedBy = (tenant: string) => tenants.get(tenant) ?? { count: 0, bytes: 0 }
  return {
    refusal({ tenant, count, bytes }) {
      const own = usedBy(tenant)
      const exceeds = (used: typeof whole, mostCount: number, mostBytes: number): boolean =>
        (count > 0 && used.count + count > mostCount) || (bytes > 0 && used.bytes + bytes > mostBytes)
      if (exceeds(own, MAX_ENDPOINTS_PER_TENANT, MAX_ENDPOINT_BYTES_PER_TENANT)) return 'tenant_full'
      return exceeds(whole, MAX_ENDPOINTS, MAX_ENDPOINT_BYTES) ? 'full' : null
    },
    take({ tenant, count, bytes }) {
      const own = usedBy(tenant)
      tenants.set(tenant, { count: own.count + count, bytes: own.bytes + bytes })
      if (own.count + count === 0) tenants.delete(tenant)
      whole.count += count
      whole.bytes += bytes
    },
  }
}
