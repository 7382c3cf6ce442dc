/**
 * How many streams and connections this process holds: what is wished for, lowered to what its open files allow; the places that both
 * transports share, those of one address and those of one token. Owns the arithmetic and the counting. Refuses to raise the limit of open
 * files: the operator does.
 */
import { readFileSync } from 'node:fs'
import type { Caller } from '../../http/auth.ts'

/** Files kept free of streams, for the log, other requests and the upstream. */
const SPARE_FILES = 1000
/** Of these, the ones that no connection from outside may have: silent ones would leave none for the log. At most half. */
const OWN_FILES = 500

/** The number of streams to take, and the sentence for the log where it is fewer than wished for. */
export interface Capacity {
  maxClients: number
  warning: string | null
}

/** Capacity under a limit of open files; null = unknown, taken as enough. */
export function capacityFor(wished: number, openFiles: number | null): Capacity {
  if (openFiles === null || openFiles >= wished + SPARE_FILES) return { maxClients: wished, warning: null }
  const maxClients = Math.max(1, openFiles - SPARE_FILES)
  return {
    maxClients,
    warning:
      `this process may open ${openFiles} files, so it takes ${maxClients} streams instead of ${wished}; ` +
      `raise the limit to ${wished + SPARE_FILES} (ulimit -n, LimitNOFILE) or lower BRIDGE_STREAM_MAX_CLIENTS`,
  }
}

/** Most connections that the public listener takes under a limit of open files; null = no bound, the limit is unknown. */
export function mostConnections(openFiles: number | null): number | null {
  return openFiles === null ? null : Math.max(openFiles - OWN_FILES, Math.floor(openFiles / 2))
}

/** The limit of open files in the text of `/proc/self/limits`; null where it does not say or there is none. */
export function parseOpenFiles(limits: string): number | null {
  const match = /^Max open files\s+(\d+)\s/m.exec(limits)
  return match === null ? null : Number(match[1])
}

/** This process's limit of open files; null where the system does not tell. */
export function openFilesLimit(): number | null {
  try {
    return parseOpenFiles(readFileSync('/proc/self/limits', 'utf8'))
  } catch {
    return null
  }
}

/**
 * Part of all places that one address may hold. Half, so that no single machine shuts everybody else out, while an office
 * or a carrier behind one address, or the edge of a network in front of the bridge, still has room for thousands.
 */
const ADDRESS_SHARE = 0.5

/** Why there is no place: all are taken, or as many as one address may have. */
export type NoPlace = 'full' | 'address_full'

/** A bounded number of places, of which one address may have a share. */
export interface Places {
  readonly limit: number
  readonly perAddress: number
  /** Takes one, for that address where it counts, and returns what gives it back, callable twice. */
  take(address: string | null): (() => void) | NoPlace
}

/** So many free places. */
export function createPlaces(limit: number): Places {
  const perAddress = Math.max(1, Math.floor(limit * ADDRESS_SHARE))
  const byAddress = createCounts(perAddress)
  let taken = 0
  return {
    limit,
    perAddress,
    take(address) {
      if (taken >= limit) return 'full'
      const giveAddress = address === null ? () => {} : byAddress.take(address)
      if (giveAddress === null) return 'address_full'
      taken += 1
      return once(() => {
        taken -= 1
        giveAddress()
      })
    },
  }
}

/** Places counted by token. */
export interface TokenPlaces {
  readonly limit: number
  /**
   * Takes a place of the caller's token and returns what gives it back, callable twice; null when it has `limit` already.
   * The token of the settings has no such limit.
   */
  take(caller: Pick<Caller, 'tokenId' | 'seesAllTenants'>): (() => void) | null
}

/** So many places for each token. */
export function createTokenPlaces(limit: number): TokenPlaces {
  const byToken = createCounts(limit)
  return {
    limit,
    take: ({ tokenId, seesAllTenants }) => (seesAllTenants ? () => {} : byToken.take(tokenId)),
  }
}

/** At most so many for each key; keys with none take no memory. */
function createCounts(limit: number): { take(key: string): (() => void) | null } {
  const taken = new Map<string, number>()
  return {
    take(key) {
      const before = taken.get(key) ?? 0
      if (before >= limit) return null
      taken.set(key, before + 1)
      return once(() => {
        const left = (taken.get(key) ?? 1) - 1
        if (left > 0) taken.set(key, left)
        else taken.delete(key)
      })
    },
  }
}

function once(give: () => void): () => void {
  let given = false
  return () => {
    if (given) return
    given = true
    give()
  }
}
