/**
 * Divides the files that this process may open among its own, incoming connections and outgoing webhook connections, so
 * that the shares together never exceed them. Raising the limit is left to the operator.
 */
import { readFileSync } from 'node:fs'

/** Files kept free of streams, for the log, other requests and the upstream. */
const SPARE_FILES = 1000
/** Of these, the files of this process itself: the log, Kafka, the upstream. A quarter where few may be opened. */
const OWN_FILES = 500
const OWN_SHARE = 1 / 4
/** Connections of the ops listener, counted among the own ones. An eighth where few may be opened. */
const OPS_CONNECTIONS = 256
const OPS_SHARE = 1 / 8
/** Incoming connections that are no streams: a quarter of what is left where few may be opened. */
const OTHER_INCOMING = 250
const OTHER_INCOMING_SHARE = 1 / 4
/** Outgoing webhook connections, as a share of all files and at most: each takes some 40 KB. */
const OUTGOING_SHARE = 0.4
const MOST_OUTGOING = 8192

/** What the files are divided by. */
export interface FileNeeds {
  /** Streams that the settings ask for. */
  streams: number
  /** Whether this process delivers webhooks. */
  delivers: boolean
}

/** The share of each; null = without a bound. */
export interface FileBudget {
  /** Streams and pulls at a time, and a warning for the log if that is below the setting. */
  streams: number
  warning: string | null
  /** Connections of the public listener and of the ops listener. */
  incoming: number | null
  ops: number
  /** Webhook connections; 0 for a process that delivers none. */
  outgoing: number
}

/** The shares under a limit of open files; null = unknown, taken as sufficient. */
export function divideFiles(openFiles: number | null, { streams: wanted, delivers }: FileNeeds): FileBudget {
  if (openFiles === null) {
    const outgoing = delivers ? MOST_OUTGOING : 0
    return { streams: wanted, warning: null, incoming: null, ops: OPS_CONNECTIONS, outgoing }
  }
  const streams = Math.max(1, Math.min(wanted, openFiles - SPARE_FILES))
  const shared = openFiles - Math.min(OWN_FILES, Math.floor(openFiles * OWN_SHARE))
  const others = Math.min(OTHER_INCOMING, Math.floor(shared * OTHER_INCOMING_SHARE))
  const most = Math.min(MOST_OUTGOING, Math.floor(openFiles * OUTGOING_SHARE), shared - streams - others)
  const outgoing = delivers ? Math.max(1, most) : 0
  return {
    streams,
    warning: streams < wanted ? lowered(openFiles, streams, wanted) : null,
    incoming: Math.max(1, shared - outgoing),
    ops: Math.max(1, Math.min(OPS_CONNECTIONS, Math.floor(openFiles * OPS_SHARE))),
    outgoing,
  }
}

function lowered(openFiles: number, streams: number, wanted: number): string {
  return (
    `this process may open ${openFiles} files, so it serves ${streams} streams instead of ${wanted}; ` +
    `raise the limit to ${wanted + SPARE_FILES} (ulimit -n, LimitNOFILE) or lower BRIDGE_STREAM_MAX_CLIENTS`
  )
}

/** The limit of open files in the text of `/proc/self/limits`; null where it has none. */
export function parseOpenFiles(limits: string): number | null {
  const match = /^Max open files\s+(\d+)\s/m.exec(limits)
  return match === null ? null : Number(match[1])
}

/** This process's limit of open files; null on systems that do not show it. */
export function openFilesLimit(): number | null {
  try {
    return parseOpenFiles(readFileSync('/proc/self/limits', 'utf8'))
  } catch {
    return null
  }
}
