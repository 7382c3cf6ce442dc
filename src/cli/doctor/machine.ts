/**
 * Checks of this machine: the runtime, the data directory, how many files may be open. Owns what is enough of each.
 * Refuses to make or change anything.
 */
import { accessSync, constants, existsSync, statfsSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { messageOf } from '../../errors.ts'
import { capacityFor } from '../../streams/limits/connection-slots.ts'
import { type Finding, fine } from './finding.ts'

const LEAST_NODE = 24
const MB = 1024 * 1024
/** A year of announcements with its indexes takes some gigabytes; a day about ten megabytes. */
const LITTLE_ROOM_BYTES = 1024 * MB
const NO_ROOM_BYTES = 100 * MB

/** `version` as `process.version` gives it. */
export function checkNode(version: string): Finding {
  const major = Number(/^v(\d+)\./.exec(version)?.[1])
  if (major >= LEAST_NODE) return fine('node', version)
  return {
    level: 'fail',
    name: 'node',
    finding: `${version} is too old: ${LEAST_NODE} or later is needed`,
    todo: 'start it with npx --no-install bridge or npm: they take the Node that came with npm ci',
    area: 'failed',
  }
}

/** Whether the data directory can be written, and has room. A directory that is not there yet is judged by its parent. */
export function checkDataDir(dataDir: string, freeBytesOf = freeBytes): Finding {
  const fail = (finding: string, todo: string): Finding => ({
    level: 'fail',
    name: 'data',
    finding,
    todo,
    area: 'failed',
  })
  const place = nearestExisting(resolve(dataDir))
  if (!statSync(place).isDirectory()) {
    return fail(`${place} is no directory`, 'point BRIDGE_DATA_DIR to a directory')
  }
  try {
    accessSync(place, constants.R_OK | constants.W_OK | constants.X_OK)
  } catch (error) {
    const todo = 'give this user the directory, or point BRIDGE_DATA_DIR to another one'
    return fail(`${place} cannot be written: ${messageOf(error)}`, todo)
  }
  const free = freeBytesOf(place)
  const room = `${(free / (1024 * MB)).toFixed(1)} GB free`
  const todo = 'make room, or point BRIDGE_DATA_DIR to another disk'
  if (free < NO_ROOM_BYTES) return fail(`${dataDir}: ${room}`, todo)
  if (free < LITTLE_ROOM_BYTES) return { ...fail(`${dataDir}: ${room}`, todo), level: 'warn' }
  const missing = place === resolve(dataDir) ? '' : ', will be made at the first start'
  return fine('data', `${dataDir} can be written, ${room}${missing}`)
}

/** Whether as many streams as wished for can be open at once. `openFiles` null = the system does not say. */
export function checkOpenFiles(wished: number, openFiles: number | null): Finding {
  const { maxClients, warning } = capacityFor(wished, openFiles)
  if (warning === null) {
    return fine(
      'files',
      openFiles === null ? 'this system does not say its limit' : `${openFiles} may be open`,
    )
  }
  return {
    level: 'warn',
    name: 'files',
    finding: `${openFiles} may be open: enough for ${maxClients} streams, not for ${wished}`,
    todo: 'raise the limit (ulimit -n, LimitNOFILE), or lower BRIDGE_STREAM_MAX_CLIENTS',
    area: 'failed',
  }
}

function nearestExisting(path: string): string {
  return existsSync(path) || dirname(path) === path ? path : nearestExisting(dirname(path))
}

function freeBytes(path: string): number {
  const { bavail, bsize } = statfsSync(path)
  return bavail * bsize
}
