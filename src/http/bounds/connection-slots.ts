/** Limits how many streams this process serves, in all, per client address and per token, and the connections of an address. */
import type { Net } from '../../core/ip.ts'
import { createShares, once } from '../../lifecycle/places.ts'
import { createAddressReader, isTrustedProxy } from './remote-address.ts'

/**
 * Share of all slots that one address may hold. Half: no single machine can lock all others out, while an office, a
 * carrier or a network edge behind one address still has room for thousands.
 */
const ADDRESS_SHARE = 0.5

/** Why there is no slot: all are taken, or as many as one address may have. */
export type NoSlot = 'full' | 'address_full'

/** A bounded number of connection slots, of which one address may hold a share. */
export interface ConnectionSlots {
  readonly limit: number
  readonly perAddress: number
  /** Takes a slot, counted for that address unless it is null. Returns the function that frees it, callable twice. */
  take(address: string | null): (() => void) | NoSlot
}

/** So many free slots. */
export function createConnectionSlots(limit: number): ConnectionSlots {
  const perAddress = Math.max(1, Math.floor(limit * ADDRESS_SHARE))
  const byAddress = createShares(perAddress)
  let taken = 0
  return {
    limit,
    perAddress,
    take(address) {
      if (taken >= limit) return 'full'
      const freeAddress = address === null ? () => {} : byAddress.take(address)
      if (freeAddress === null) return 'address_full'
      taken += 1
      return once(() => {
        taken -= 1
        freeAddress()
      })
    },
  }
}

/**
 * Shares of all connections that one address may hold: half, and nine tenths where it is in the operator's own networks
 * and may be a proxy that nobody has named.
 */
const CONNECTION_SHARES = { other: ADDRESS_SHARE, own: 0.9 }

/** Counts the open connections of each address. Returns the function that frees one, null where there are too many. */
export type TakeConnection = (remoteAddress: string | undefined) => (() => void) | null

/** At most a share of `maxConnections` for each address; none is counted for trusted proxies. */
export function createConnectionLimit(maxConnections: number, trusted: readonly Net[]): TakeConnection {
  const counts = {
    other: createShares(Math.max(1, Math.floor(maxConnections * CONNECTION_SHARES.other))),
    own: createShares(Math.max(1, Math.floor(maxConnections * CONNECTION_SHARES.own))),
  }
  const addressOf = createAddressReader([])
  return (remoteAddress) => {
    const address = addressOf({ socket: { remoteAddress }, headers: {} })
    if (address === null || isTrustedProxy(remoteAddress, trusted)) return () => {}
    return counts[address.isOwn ? 'own' : 'other'].take(address.key)
  }
}

/** Connection slots per token. */
export interface TokenSlots {
  readonly limit: number
  /**
   * Takes a slot of the caller's token and returns the function that frees it, callable twice; null when the token has
   * `limit` already. The token of the settings has no limit.
   */
  take(caller: { tokenId: string; seesAllTenants: boolean }): (() => void) | null
}

/** So many slots for each token. */
export function createTokenSlots(limit: number): TokenSlots {
  const byToken = createShares(limit)
  return {
    limit,
    take: ({ tokenId, seesAllTenants }) => (seesAllTenants ? () => {} : byToken.take(tokenId)),
  }
}
