/**
 * How many streams this process holds: what is wished for, lowered to what its open files allow; the places that both
 * transports share, and those of one token. Owns the arithmetic and the counting. Refuses to raise the limit of open
 * files: the operator does.
 */
import { readFileSync } from 'node:fs'

/** Files kept free for the log, other requests and the upstream. */
const SPARE_FILES = 1000

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

/** A bounded number of places. */
export interface Places {
  readonly limit: number
  /** Takes one and returns what gives it back, callable twice; null when all are taken. */
  take(): (() => void) | null
}

/** So many free places. */
export function createPlaces(limit: number): Places {
  let taken = 0
  return {
    limit,
    take() {
      if (taken >= limit) return null
      taken += 1
      return once(() => {
        taken -= 1
      })
    },
  }
}

/** Places counted by token. */
export interface TokenPlaces {
  readonly limit: number
  /** Takes a place of the token with this id, or null when it has `limit` already. */
  take(tokenId: string): (() => void) | null
}

/** So many places for each token. */
export function createTokenPlaces(limit: number): TokenPlaces {
  const taken = new Map<string, number>()
  return {
    limit,
    take(tokenId) {
      const before = taken.get(tokenId) ?? 0
      if (before >= limit) return null
      taken.set(tokenId, before + 1)
      return once(() => {
        const left = (taken.get(tokenId) ?? 1) - 1
        if (left > 0) taken.set(tokenId, left)
        else taken.delete(tokenId)
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
