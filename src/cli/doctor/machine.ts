/**
 * Checks this machine: the Node version, the data directory with its free space, the limit of open files. Leaves nothing
 * behind.
 */
import { accessSync, constants, existsSync, statfsSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { BridgeError, messageOf } from '../../errors.ts'
import { divideFiles, type FileNeeds } from '../../lifecycle/open-files.ts'
import { tryMakingDirectory } from '../../log-embedded/lock.ts'
import { isOpenToOthers, openToOthers } from '../../log-embedded/private-files.ts'
import { ENV_FILE } from '../../settings/environment.ts'
import { bytesText, counted } from '../terminal/text.ts'
import { type Finding, fail, fine, warn } from './finding.ts'

const LEAST_NODE = 24
const MB = 1024 * 1024
/** A year of announcements with its indexes takes several gigabytes; a day about ten megabytes. */
const WARN_FREE_BYTES = 1024 * MB
const LEAST_FREE_BYTES = 100 * MB

/** `version` as `process.version` gives it. */
export function checkNode(version: string): Finding {
  const major = Number(/^v(\d+)\./.exec(version)?.[1])
  if (major >= LEAST_NODE) return fine('node', version)
  return fail(
    'node',
    `${version} is too old: ${LEAST_NODE} or later is needed`,
    'start it with npx --no-install bridge or npm: they use the Node that npm ci installed',
  )
}

/**
 * Whether the data directory is writable and has free space. One that does not exist yet is made and removed again; its
 * parent has the free space.
 */
export function checkDataDir(dataDir: string, freeBytesOf = freeBytes): Finding {
  try {
    tryMakingDirectory(dataDir)
  } catch (error) {
    if (!(error instanceof BridgeError)) throw error
    return fail('data', error.message, error.hint ?? null, 'settings')
  }
  const place = nearestExisting(resolve(dataDir))
  try {
    accessSync(place, constants.R_OK | constants.W_OK | constants.X_OK)
  } catch (error) {
    const todo = 'make it writable for this user, or point BRIDGE_DATA_DIR to another directory'
    return fail('data', `${place} cannot be written: ${messageOf(error)}`, todo)
  }
  const free = freeBytesOf(place)
  const room = `${free < WARN_FREE_BYTES ? bytesText(free) : `${(free / (1024 * MB)).toFixed(1)} GB`} free`
  const todo = 'free some space, or point BRIDGE_DATA_DIR to another disk'
  if (free < LEAST_FREE_BYTES) return fail('data', `${dataDir}: ${room}`, todo)
  if (free < WARN_FREE_BYTES) return warn('data', `${dataDir}: ${room}`, todo)
  const missing = place === resolve(dataDir) ? '' : ', will be created at the first start'
  return fine('data', `${dataDir} can be written, ${room}${missing}`)
}

/**
 * A warning where other users of this machine have rights to the data directory, to files in it, or to the file of settings.
 * `envFile`: where the settings are read from.
 */
export function checkPrivacy(dataDir: string, envFile = ENV_FILE): Finding[] {
  const open = openToOthers(dataDir)
  const places = [
    ...(open.length === 0 ? [] : [{ path: dataDir, rights: '700', more: open.length - 1 }]),
    ...(isOpenToOthers(envFile) ? [{ path: envFile, rights: '600', more: 0 }] : []),
  ]
  return places.map(({ path, rights, more }) => {
    const files = more === 0 ? '' : `, and to ${counted(more, 'file')} in it`
    const finding = `other users of this machine have rights to ${path}${files}`
    return warn('privacy', finding, `take them away: chmod ${rights} ${path}`)
  })
}

/**
 * Whether the limit of open files allows the configured number of streams where the bridge serves them, beside webhook
 * attempts where it delivers. `openFiles` null: the limit is unknown.
 */
export function checkOpenFiles(needs: FileNeeds, openFiles: number | null): Finding {
  const { streams, outgoing, warning } = divideFiles(openFiles, needs)
  if (openFiles === null) return fine('files', 'the limit is unknown on this system')
  const attempts = needs.delivers ? `${outgoing} webhook attempts at a time` : null
  if (needs.streams === 0) {
    const enough = attempts ?? 'this process, which has no streams and no webhook attempts'
    return fine('files', `${openFiles} may be open: enough for ${enough}`)
  }
  const beside = attempts === null ? '' : `, beside ${attempts}`
  if (warning === null)
    return fine('files', `${openFiles} may be open: enough for ${streams} streams${beside}`)
  return warn(
    'files',
    `${openFiles} may be open: enough for ${streams} streams, not for ${needs.streams}${beside}`,
    'raise the limit (ulimit -n, LimitNOFILE), or lower BRIDGE_STREAM_MAX_CLIENTS',
  )
}

function nearestExisting(path: string): string {
  return existsSync(path) || dirname(path) === path ? path : nearestExisting(dirname(path))
}

function freeBytes(path: string): number {
  const { bavail, bsize } = statfsSync(path)
  return bavail * bsize
}
