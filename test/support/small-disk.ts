/**
 * Mounts a file system of some megabytes for one test: memory, in a namespace of its own. Nothing of the machine
 * changes, no rights are needed where the kernel lets users have namespaces, and nothing is left when the test dies.
 */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync, closeSync, mkdtempSync, openSync, rmSync, statfsSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

const MOUNT = 'mount -t tmpfs -o "size=$1,mode=700" small-disk "$0"'
/** Lives as long as its standard input, and so as long as the test. */
const HOLD = `${MOUNT} && echo mounted && exec cat`
const BLOCK_BYTES = 4096
const NAMESPACES = ['--user', '--map-root-user', '--mount']

export interface SmallDisk extends AsyncDisposable {
  /** Where it is mounted, for processes that `inside` starts. */
  readonly path: string
  /** The command prefix with which a process sees the disk. */
  readonly inside: readonly string[]
  /** Writes a file until not one more byte fits. */
  fill(): void
  /** Adds so many bytes to that file. */
  grow(bytes: number): void
  /** Removes it. */
  makeRoom(): void
}

/** Whether this machine lets a test have one: Linux that lets this user have namespaces. */
export function canHaveSmallDisk(): boolean {
  using folder = temporaryFolder()
  return spawnSync('unshare', [...NAMESPACES, 'sh', '-c', MOUNT, folder.path, '64k']).status === 0
}

/** Mounts one. Rejects with the system's error. */
export async function startSmallDisk(bytes: number): Promise<SmallDisk> {
  const folder = temporaryFolder()
  const holder = spawn('unshare', [...NAMESPACES, 'sh', '-c', HOLD, folder.path, String(bytes)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const gone = once(holder, 'close')
  const lines = createInterface({ input: holder.stdout })
  const isMounted = await Promise.race([once(lines, 'line').then(() => true), gone.then(() => false)])
  if (!isMounted) {
    folder[Symbol.dispose]()
    throw new Error('no small disk: ask canHaveSmallDisk before')
  }
  // The disk as seen from outside: through the process that holds it.
  const seen = join(`/proc/${holder.pid}/root`, folder.path)
  const filler = join(seen, 'filler')
  return {
    path: folder.path,
    inside: ['nsenter', '--target', String(holder.pid), '--user', '--mount', '--preserve-credentials', '--'],
    fill() {
      const file = openSync(filler, 'a')
      try {
        writeUntilFull(file, Buffer.alloc(256 * BLOCK_BYTES))
      } finally {
        closeSync(file)
      }
      if (statfsSync(seen).bfree > 0) throw new Error('the disk is not full')
    },
    grow: (bytes) => appendFileSync(filler, Buffer.alloc(bytes)),
    makeRoom: () => rmSync(filler, { force: true }),
    async [Symbol.asyncDispose]() {
      holder.stdin.end()
      await gone
      folder[Symbol.dispose]()
    },
  }
}

function writeUntilFull(file: number, bytes: Buffer): void {
  for (;;) {
    try {
      writeSync(file, bytes)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
      return
    }
  }
}

function temporaryFolder(): { path: string; [Symbol.dispose](): void } {
  const path = mkdtempSync(join(tmpdir(), 'bridge-disk-'))
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) }
}
