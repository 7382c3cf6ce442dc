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
/** Incoming connections that are no streams: a quarter of the incoming ones where they are few. */
const OTHER_INCOMING = 250
const OTHER_INCOMING_SHARE = 1 / 4
/** Outgoing webhook connections, as a share of all files and at most: each takes some 40 KB. */
const OUTGOING_SHARE = 2 / 5
const MOST_OUTGOING = 8192

/** What the files are divided by. */
export interface FileNeeds {
  /** Streams and pulls that the settings ask for; 0 for a process that serves none. */
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

/**
 * The shares under a limit of open files; null = unknown, taken as sufficient. From 1,000 files above the streams that are
 * wanted there are as many (contract §2), and webhook attempts have what those leave; below that they have their whole share.
 */
export function divideFiles(openFiles: number | null, needs: FileNeeds): FileBudget {
  const { streams: wanted, delivers } = needs
  if (openFiles === null) {
    const outgoing = delivers ? MOST_OUTGOING : 0
    return { streams: wanted, warning: null, incoming: null, ops: OPS_CONNECTIONS, outgoing }
  }
  const { streams, incoming, outgoing } = connectionsUnder(openFiles, needs)
  const ops = Math.max(1, Math.min(OPS_CONNECTIONS, Math.floor(openFiles * OPS_SHARE)))
  if (streams === wanted) return { streams, warning: null, incoming, ops, outgoing }
  const beside = delivers ? `, beside ${outgoing} webhook attempts at a time` : ''
  const warning =
    `this process may open ${openFiles} files, so it serves ${streams} streams instead of ${wanted}${beside}; ` +
    `raise the limit to ${filesFor(needs)} (ulimit -n, LimitNOFILE) or lower BRIDGE_STREAM_MAX_CLIENTS`
  return { streams, warning, incoming, ops, outgoing }
}

/** Connections of each kind. */
function connectionsUnder(
  openFiles: number,
  { streams: wanted, delivers }: FileNeeds,
): Pick<FileBudget, 'streams' | 'outgoing'> & { incoming: number } {
  const own = Math.min(OWN_FILES, openFiles * OWN_SHARE)
  const isEnough = openFiles >= wanted + SPARE_FILES
  const left = isEnough ? openFiles - own - OTHER_INCOMING - wanted : Number.POSITIVE_INFINITY
  const outgoing = delivers ? Math.min(outgoingShare(openFiles), left) : 0
  // Rounded down together: else one file more could take one from them.
  const incoming = openFiles - Math.floor(own + outgoing)
  const others = Math.min(OTHER_INCOMING, Math.floor(incoming * OTHER_INCOMING_SHARE))
  return {
    streams: Math.min(wanted, Math.max(1, Math.min(openFiles - SPARE_FILES, incoming - others))),
    incoming: Math.max(1, incoming),
    outgoing: delivers ? Math.max(1, Math.floor(outgoing)) : 0,
  }
}

function outgoingShare(openFiles: number): number {
  return Math.min(MOST_OUTGOING, openFiles * OUTGOING_SHARE)
}

/** The lowest limit under which there are as many streams as wanted beside the whole share of webhook attempts. */
function filesFor(needs: FileNeeds): number {
  let openFiles = needs.streams + SPARE_FILES
  while (needs.delivers && connectionsUnder(openFiles, needs).outgoing < Math.floor(outgoingShare(openFiles)))
    openFiles += 1
  return openFiles
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
