/**
 * How many streams this process can hold: what is wished for, lowered to what its open files allow. Owns the arithmetic
 * and the reading of the limit. Refuses to raise it: the operator does.
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
