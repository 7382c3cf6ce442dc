/**
 * Follows files that change while the process runs: hands over each new content once it is whole, and reports once each
 * content that cannot be used.
 */
import { readFileSync } from 'node:fs'
import { type Clock, within } from './clock.ts'
import { onSignal } from './signals.ts'
import { createWakeup } from './wakeup.ts'

/**
 * Between two looks. The content is compared, not the times of the file: Kubernetes swaps a link above it, and file systems
 * differ in what they notify of.
 */
const LOOK_MS = 5_000
/** A new content counts when it is the same after this time: it may be half written. */
const SETTLE_MS = 1_000

/** The text of a followed file without blanks at its ends; throws what its reading threw. */
export type ReadSeen = (path: string) => string

/** Files that belong together, such as a certificate and its key. `T`: what they hold. */
export interface FollowedFiles<T> {
  paths: readonly string[]
  /** The texts in use when it begins, in the order of `paths`; null: those that the files hold then. */
  texts: readonly string[] | null
  /** What the files hold now. Throws where it cannot be used: what was taken before stays in use. */
  read(seen: ReadSeen): T
  /** Called with each new content. */
  take(content: T): void
  /** Called with what `read` threw, once for the same content. */
  refuse(error: unknown): void
}

/** Looks every few seconds, and at once at each SIGHUP, until the signal aborts. */
export async function followFiles<T>(
  files: FollowedFiles<T>,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  const { paths, texts } = files
  let inUse = texts === null ? look(paths).key : keyOf(texts.map((text) => text.trim()))
  let refused: string | null = null
  const hungUp = createWakeup()
  const off = onSignal('SIGHUP', () => hungUp.wake())
  const pause = (ms: number): Promise<void> => within(clock, ms, signal, (waiting) => hungUp.wait(waiting))
  try {
    while (!signal.aborted) {
      await pause(LOOK_MS)
      const seen = look(paths)
      if (seen.key === inUse) refused = null
      if (signal.aborted || seen.key === inUse || seen.key === refused) continue
      await pause(SETTLE_MS)
      if (signal.aborted || look(paths).key !== seen.key) continue
      if (offer(files, seen.read)) inUse = seen.key
      else refused = seen.key
    }
  } finally {
    off()
  }
}

/** Whether the content is in use from now on. */
function offer<T>(files: FollowedFiles<T>, seen: ReadSeen): boolean {
  let content: T
  try {
    content = files.read(seen)
  } catch (error) {
    files.refuse(error)
    return false
  }
  files.take(content)
  return true
}

/** The files as they are. `key` is the same for the same texts; a file that cannot be read is null in it. */
function look(paths: readonly string[]): { key: string; read: ReadSeen } {
  const seen = new Map(paths.map((path) => [path, readNow(path)]))
  return {
    key: keyOf(paths.map((path) => seen.get(path)?.text ?? null)),
    read(path) {
      const { text = null, error } = seen.get(path) ?? {}
      if (text === null) throw error
      return text
    },
  }
}

function readNow(path: string): { text: string | null; error?: unknown } {
  try {
    return { text: readFileSync(path, 'utf8').trim() }
  } catch (error) {
    return { text: null, error }
  }
}

function keyOf(texts: readonly (string | null)[]): string {
  return JSON.stringify(texts)
}
