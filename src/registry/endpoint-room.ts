/**
 * Limits the number and size of webhook endpoints, per tenant and in total, because every node holds all of them in
 * memory.
 */

/** Most endpoints of a tenant, and of all tenants together. */
export const MAX_ENDPOINTS_PER_TENANT = 1000
const MAX_ENDPOINTS = 20_000
/** Most bytes of the rows of a tenant's endpoints, and of all: filters of ten thousand identifiers have 230 KB. */
export const MAX_ENDPOINT_BYTES_PER_TENANT = 16 * 1024 * 1024
const MAX_ENDPOINT_BYTES = 256 * 1024 * 1024

/** Whose limit is reached: that of the tenant, or of the bridge. */
export type NoRoom = 'tenant_full' | 'full'

/** What an endpoint uses. */
export interface EndpointSize {
  tenant: string
  /** Of its row. */
  bytes: number
}

/**
 * Why there is no room for one endpoint more (`count` 1), or for these additional bytes of one (`count` 0); null where there
 * is room. Fewer bytes are never refused.
 */
export function roomRefusal(
  present: Iterable<EndpointSize>,
  { tenant, bytes, count }: EndpointSize & { count: 0 | 1 },
): NoRoom | null {
  const own = { count, bytes }
  const whole = { count, bytes }
  for (const endpoint of present) {
    for (const sum of endpoint.tenant === tenant ? [own, whole] : [whole]) {
      sum.count += 1
      sum.bytes += endpoint.bytes
    }
  }
  const exceeds = (sum: typeof whole, mostCount: number, mostBytes: number): boolean =>
    (count > 0 && sum.count > mostCount) || (bytes > 0 && sum.bytes > mostBytes)
  if (exceeds(own, MAX_ENDPOINTS_PER_TENANT, MAX_ENDPOINT_BYTES_PER_TENANT)) return 'tenant_full'
  return exceeds(whole, MAX_ENDPOINTS, MAX_ENDPOINT_BYTES) ? 'full' : null
}
