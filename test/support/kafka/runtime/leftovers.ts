/**
 * Removes brokers and folders that a killed test run has left behind. Checks that a process is the one noted, because
 * process ids are reused.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const PREFIX = 'bridge-kafka-'
/** The folder in which `noteProcess` notes. */
export const NOTES = 'processes'

/** A process by its number and the moment it started, which no later one shares. */
interface ProcessNote {
  pid: number
  started: string
}

/** Makes a folder for brokers that this process owns. */
export function makeBrokerFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), PREFIX))
  mkdirSync(join(folder, NOTES))
  note(folder, 'owner', process.pid)
  return folder
}

/** Notes that `pid` is the process `name` of that folder, in the place of an earlier one. */
export function noteProcess(folder: string, name: string, pid: number): void {
  note(folder, name, pid)
}

/** Kills what dead runs left running and removes their folders. Cheap where there is nothing. */
export function clearLeftovers(): void {
  for (const name of readdirSync(tmpdir())) {
    if (!name.startsWith(PREFIX)) continue
    const folder = join(tmpdir(), name)
    const owner = readNote(folder, 'owner')
    // Without the note its owner is just making it.
    if (owner === null || isRunning(owner)) continue
    for (const other of readdirSync(join(folder, NOTES))) {
      const left = readNote(folder, other)
      if (left !== null && isRunning(left)) kill(left.pid)
    }
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

function note(folder: string, name: string, pid: number): void {
  const started = startOf(pid)
  if (started !== null) writeFileSync(join(folder, NOTES, name), JSON.stringify({ pid, started }))
}

function readNote(folder: string, name: string): ProcessNote | null {
  try {
    return JSON.parse(readFileSync(join(folder, NOTES, name), 'utf8')) as ProcessNote
  } catch {
    return null // not written yet, or cleared away by another run at the same time
  }
}

function isRunning({ pid, started }: ProcessNote): boolean {
  return startOf(pid) === started
}

/** When that process started, in the system's own words; null when there is none, or only what is left of a dead one. */
export function startOf(pid: number): string | null {
  try {
    if (!existsSync('/proc/self/stat')) return startByPs(pid)
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The name of the program, in brackets, may hold anything. State and start time are fields 3 and 22.
    const [state, ...fields] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return state === 'Z' ? null : (fields[18] ?? null)
  } catch {
    return null
  }
}

function startByPs(pid: number): string | null {
  const started = execFileSync('ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8' }).trim()
  return started === '' ? null : started
}
