/**
 * Unpacks the product as it was at an earlier commit, so that a test can run that build beside this one on the same store or
 * topics. It uses today's packages: their versions are those of these commits.
 */
import { execFileSync } from 'node:child_process'
import { symlinkSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { temporaryDirectory } from '../bridge-process.ts'

const ROOT = resolve(import.meta.dirname, '../../..')
const MOST_BYTES = 256 * 1024 * 1024

/** Commits whose builds are run, by what makes them worth it. */
export const earlierCommits = {
  /** Layout 2 of the embedded store, no webhooks yet. */
  olderLayout: '01647570',
  /** Before the folders had their present names: no backup, no restore. */
  beforeFolders: '2642d9a7',
  /** The last one before the console and the operations of the second version. */
  last: 'fa6cd9c0',
} as const

/** The program of an earlier build. */
export interface EarlierBuild {
  /** To be run in place of `src/main.ts`. */
  readonly main: string
  [Symbol.dispose](): void
}

/**
 * Unpacks that commit into a directory that is deleted with the build.
 * @throws Error where the repository does not have the commit, such as a shallow clone
 */
export function earlierBuild(commit: string): EarlierBuild {
  const packed = archiveOf(commit)
  const directory = temporaryDirectory()
  execFileSync('tar', ['-x', '-C', directory.path], { input: packed })
  symlinkSync(join(ROOT, 'node_modules'), join(directory.path, 'node_modules'))
  return {
    main: join(directory.path, 'src/main.ts'),
    [Symbol.dispose]: () => directory[Symbol.dispose](),
  }
}

function archiveOf(commit: string): Buffer {
  const git = ['-C', ROOT, 'archive', commit, 'src', 'package.json']
  try {
    return execFileSync('git', git, { maxBuffer: MOST_BYTES, stdio: ['ignore', 'pipe', 'pipe'] })
  } catch (cause) {
    const text = `this test runs the build of commit ${commit}, which the repository here does not have: clone it with its whole history (git fetch --unshallow)`
    throw new Error(text, { cause })
  }
}

/** Marks a store as one of that layout, as a later build would leave it; no process may use it. */
export function setLayout(path: string, version: number): void {
  const db = new DatabaseSync(path)
  db.exec(`PRAGMA user_version = ${version}`)
  db.close()
}
