/**
 * Limits the memory of the delivery rows of a process, in all and per tenant. Where a tenant has too many, its oldest dead
 * deliveries are forgotten first; where waiting ones alone are too many, its endpoints read no further until some end.
 */

/** What a waiting delivery takes in memory, and a dead one, with its stored row; measured. */
const WAITING_BYTES = 1000
const DEAD_BYTES = 400
/** Most bytes of a tenant, and of all. */
const TENANT_BYTES = 64 * 1024 * 1024
const ALL_BYTES = 256 * 1024 * 1024
/** Deliveries that may wait for an endpoint whatever its tenant has: one of few failures goes on beside one of many. */
export const FEW_WAITING = 64

/** The rows of a tenant. */
export interface TenantRows {
  waiting: number
  dead: number
}

/** What follows from a count of the rows. */
export interface BudgetChange {
  /** By tenant: how many of its dead deliveries, the oldest, are to be forgotten. */
  forget: ReadonlyMap<string, number>
  /** Tenants whose endpoints may read on. */
  relieved: readonly string[]
}

/** The budget of a process. */
export class RowBudget {
  #full = new Set<string>()
  readonly #tenantBytes: number
  readonly #allBytes: number

  /** Limits smaller than the usual are for tests. */
  constructor({ tenantBytes = TENANT_BYTES, allBytes = ALL_BYTES } = {}) {
    this.#tenantBytes = tenantBytes
    this.#allBytes = allBytes
  }

  /** Whether an endpoint of that tenant for which so many deliveries wait may read no further. */
  isFull(tenant: string, waiting: number): boolean {
    return waiting >= FEW_WAITING && this.#full.has(tenant)
  }

  /** Applies a count of the rows of all tenants. */
  count(tenants: ReadonlyMap<string, TenantRows>): BudgetChange {
    const forget = new Map<string, number>()
    const before = this.#full
    this.#full = new Set()
    const limit = this.#limitOf([...tenants.values()].map(bytesOf))
    for (const [tenant, rows] of tenants) {
      const over = bytesOf(rows) - limit
      if (over <= 0) continue
      const count = Math.min(rows.dead, Math.ceil(over / DEAD_BYTES))
      if (count > 0) forget.set(tenant, count)
      if (over > count * DEAD_BYTES) this.#full.add(tenant)
    }
    return { forget, relieved: [...before].filter((tenant) => !this.#full.has(tenant)) }
  }

  /** The most bytes that a tenant may have: where all together have too many, those with most give way. */
  #limitOf(bytes: number[]): number {
    let limit = this.#tenantBytes
    let left = this.#allBytes
    const rising = bytes.map((one) => Math.min(one, this.#tenantBytes)).sort((one, other) => one - other)
    for (const [at, one] of rising.entries()) {
      const share = left / (rising.length - at)
      if (one > share) {
        limit = share
        break
      }
      left -= one
    }
    return limit
  }
}

function bytesOf({ waiting, dead }: TenantRows): number {
  return waiting * WAITING_BYTES + dead * DEAD_BYTES
}
