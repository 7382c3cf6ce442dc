/** Locks a data directory for one process; the operating system releases the lock however that process ends. */
import { existsSync, mkdirSync, readFileSync, rmdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { dirname, join } from 'node:path'
import { isoMillis } from '../core/dates.ts'
import { BridgeError, messageOf } from '../errors.ts'
import type { Clock } from '../lifecycle/clock.ts'
import { lockFile } from '../storage/database.ts'
import { keepPrivate, PRIVATE_DIRECTORY } from './private-files.ts'

const LOCK = 'lock.db'
const NOTE = 'owner.json'

/** Holds the directory until called. Callable twice. */
export type Unlock = () => void

/**
 * Locks the data directory, creating it where it is missing, and closes it and its files to other users of the machine.
 * @throws BridgeError `log_locked` naming the process that holds it, `settings` when it cannot be created, `log_unavailable`
 *   when it cannot be written
 */
export function lockDirectory(dataDir: string, clock: Clock): Unlock {
  makeDirectory(dataDir)
  keepPrivate(dataDir)
  const release = lockFile(join(dataDir, LOCK))
  const note = join(dataDir, NOTE)
  if (release === null) {
    throw new BridgeError('log_locked', `${dataDir} is in use by ${ownerOf(note)}`, {
      hint: 'Stop that process, or give this one another BRIDGE_DATA_DIR.',
    })
  }
  let held = true
  try {
    writeFileSync(note, JSON.stringify({ pid: process.pid, host: hostname(), since: isoMillis(clock.now()) }))
  } catch (error) {
    release()
    throw new BridgeError('log_unavailable', `${note} cannot be written: ${messageOf(error)}`, {
      hint: 'Free space on its volume or give this user write permission, then start it again.',
    })
  }
  return () => {
    if (held) rmSync(note, { force: true })
    held = false
    release()
  }
}

/**
 * Describes the process that holds the data directory; null where none does. Creates nothing and keeps no lock.
 * @throws BridgeError `log_unavailable` when the lock cannot be read
 */
export function holderOf(dataDir: string): string | null {
  const lock = join(dataDir, LOCK)
  if (!existsSync(lock)) return null
  const release = lockFile(lock)
  if (release === null) return ownerOf(join(dataDir, NOTE))
  release()
  return null
}

/**
 * Creates the missing levels of the data directory as `lockDirectory` does, and removes them again.
 * @throws BridgeError `settings` when it cannot be created
 */
export function tryMakingDirectory(dataDir: string): void {
  const made: string[] = []
  try {
    makeDirectory(dataDir, made)
  } finally {
    for (const path of made.reverse()) removeEmpty(path)
  }
}

/** `made` gets each level that was created, from the top down. */
function makeDirectory(dataDir: string, made: string[] = []): void {
  try {
    makeMissing(dataDir, made)
  } catch (error) {
    throw new BridgeError('settings', `${dataDir} cannot be made: ${messageOf(error)}`, {
      hint: 'Point BRIDGE_DATA_DIR to a directory that this user can write.',
    })
  }
}

/** Creates one level at a time: Node's own recursion never ends below a parent such as /proc. */
function makeMissing(path: string, made: string[]): void {
  if (isDirectory(path)) return
  const parent = dirname(path)
  if (parent !== path) makeMissing(parent, made)
  try {
    mkdirSync(path, { mode: PRIVATE_DIRECTORY })
    made.push(path)
  } catch (error) {
    if (!isDirectory(path)) throw error
  }
}

function removeEmpty(path: string): void {
  try {
    rmdirSync(path)
  } catch {
    // Another process has begun to use it.
  }
}

function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
}

function ownerOf(note: string): string {
  try {
    const { pid, host, since } = JSON.parse(readFileSync(note, 'utf8')) as Record<string, unknown>
    return `process ${pid} on ${host} since ${since}`
  } catch {
    return 'another process that has not said which'
  }
}
