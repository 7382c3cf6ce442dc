/**
 * Provides the built page of the console: from the file that an image has, else built by a child process at the first
 * request. It is kept for the life of the process.
 */
import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { retryLater } from '../http/problem.ts'
import type { Clock } from '../lifecycle/clock.ts'
import type { Logger } from '../obs/logger.ts'
import type { BuiltPage } from './built-page.ts'

/** One file, ready to be sent. */
export interface PageFile {
  type: string
  brotli: Buffer
  gzip: Buffer
  /** Neither; made for the first client that takes no compression, and kept for the others. */
  plain?: Buffer
}

/** The page, ready to be sent. */
export interface ReadyPage extends Pick<BuiltPage, 'hash' | 'screens'> {
  shell: Buffer
  /** The same, which says that a link's code may sign in unasked. */
  directShell: Buffer
  files: ReadonlyMap<string, PageFile>
}

/** How the page is found. */
export interface PageSourceOptions {
  clock: Clock
  logger: Logger
  /** Ends the child process. */
  stopping: AbortSignal
  /** Prints the page as JSON; for tests. */
  script?: string
}

const SCRIPT = join(import.meta.dirname, 'build-page.ts')
/** Made when the image is built, so that a container needs no child process. */
const BUILT = join(import.meta.dirname, 'page.built.json')
const TIMEOUT_MS = 30_000
/** How long nobody tries again to build a page that could not be built. */
const PAUSE_MS = 30_000
const HEAD = '<head>'
/** Far above the page: a megabyte with everything in it. */
const MOST_BYTES = 16 * 1024 * 1024

/**
 * A function that resolves to the page, building it at the first call; callers at the same time share one build. It rejects
 * with HttpProblem `unavailable` where the page cannot be built; the first call half a minute later tries again.
 */
export function createPageSource(options: PageSourceOptions): () => Promise<ReadyPage> {
  const { clock, logger } = options
  let page: Promise<ReadyPage> | null = null
  let failedMs: number | null = null
  const build = async (): Promise<ReadyPage> => {
    const startedMs = clock.now()
    try {
      const built = readPage(await builtText(options))
      logger.info('console.built', { durationMs: clock.now() - startedMs, count: built.files.size })
      return built
    } catch (error) {
      failedMs = clock.now()
      if (!options.stopping.aborted) logger.error('console.build_failed', { error })
      throw retryLater('unavailable', 'the page of the console could not be built; the log says why')
    }
  }
  return () => {
    if (failedMs !== null && clock.now() - failedMs >= PAUSE_MS) {
      page = null
      failedMs = null
    }
    page ??= build()
    return page
  }
}

/** The page as JSON. */
async function builtText({ stopping, script }: PageSourceOptions): Promise<string> {
  const ready = script === undefined ? await readIfThere(BUILT) : null
  if (ready !== null) return ready
  const args = ['--disable-warning=ExperimentalWarning', script ?? SCRIPT]
  // The environment holds secrets, of which the child needs none.
  const limits = { env: {}, timeout: TIMEOUT_MS, maxBuffer: MOST_BYTES, signal: stopping }
  const { stdout } = await promisify(execFile)(process.execPath, args, limits)
  return stdout
}

async function readIfThere(path: string): Promise<string | null> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}

function readPage(text: string): ReadyPage {
  const { hash, shell, screens, files } = JSON.parse(text) as BuiltPage
  const ready = Object.entries(files).map(([path, { type, brotli, gzip }]) => {
    return [path, { type, brotli: Buffer.from(brotli, 'base64'), gzip: Buffer.from(gzip, 'base64') }] as const
  })
  const directShell = shell.replace(HEAD, `${HEAD}\n    <meta name="opened" content="directly" />`)
  return {
    ...{ hash, screens, shell: Buffer.from(shell), directShell: Buffer.from(directShell) },
    files: new Map(ready),
  }
}
