/**
 * Starts the product's commands as processes whose log goes to a file, so that a run of hours keeps nothing of it in
 * memory.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { createInterface } from 'node:readline'

const MAIN = resolve(import.meta.dirname, '../../../src/main.ts')
const COLLECT = resolve(import.meta.dirname, 'collect-on-signal.ts')
const READY_MS = 120_000
/** A clean stop of a bridge takes `BRIDGE_DRAIN_TIMEOUT` at most. */
const STOP_MS = 60_000
const SHOWN_CHARACTERS = 2_000

/** A running process of the product. */
export interface SoakProcess {
  readonly pid: number
  /** Its ready line. */
  readonly ready: unknown
  readonly startedMs: number
  isRunning(): boolean
  /** Has it collect all garbage, which takes less than a second. */
  collect(): void
  /** Sends the signal and waits for the end; kills what does not end in a minute, and says so by `false`. */
  stop(signal: NodeJS.Signals): Promise<boolean>
  /** The end of its log. */
  lastWords(): string
}

/** As the launcher and the image of a release set it. */
const ALLOCATOR = { MALLOC_ARENA_MAX: '1', MALLOC_MMAP_THRESHOLD_: '32768' }

/**
 * Starts `bridge <args>` and waits for its ready line; its log is appended to `<name>.log`.
 * @throws Error with the end of the log where it ends before, also because `stopped` aborts, or is not ready in two minutes
 */
export async function startProcess(
  name: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  stopped?: AbortSignal,
): Promise<SoakProcess> {
  stopped?.throwIfAborted()
  const { PATH = '', HOME = '' } = process.env
  const file = `${name}.log`
  const log = openSync(file, 'a')
  const child = spawn(process.execPath, ['--expose-gc', '--import', COLLECT, MAIN, ...args], {
    env: { PATH, HOME, ...ALLOCATOR, ...env },
    stdio: ['ignore', 'pipe', log],
  })
  closeSync(log)
  const startedMs = Date.now()
  const end = (): void => void child.kill('SIGKILL')
  process.once('exit', end)
  const ended = new Promise<void>((done) => child.once('close', () => done()))
  ended.then(() => process.off('exit', end))
  const stop = (): void => void child.kill('SIGTERM')
  stopped?.addEventListener('abort', stop)
  const lastWords = (): string => readFileSync(file, 'utf8').slice(-SHOWN_CHARACTERS)
  const started = {
    pid: child.pid ?? 0,
    ready: await readyOf(child, ended)
      .catch((error: Error) => {
        child.kill('SIGKILL')
        throw new Error(`${name}: ${error.message}\n${lastWords()}`)
      })
      .finally(() => stopped?.removeEventListener('abort', stop)),
    startedMs,
    lastWords,
    isRunning: () => child.exitCode === null && child.signalCode === null,
    collect: () => void child.kill('SIGWINCH'),
    async stop(signal: NodeJS.Signals) {
      child.kill(signal)
      const late = setTimeout(() => child.kill('SIGKILL'), STOP_MS)
      await ended
      clearTimeout(late)
      return signal === 'SIGKILL' || child.exitCode === 0
    },
  }
  return started
}

function readyOf(child: ChildProcess, ended: Promise<void>): Promise<unknown> {
  return new Promise((done, fail) => {
    const late = setTimeout(() => fail(new Error('was not ready in time')), READY_MS)
    if (child.stdout === null) throw new Error('its output is not piped')
    createInterface(child.stdout).on('line', (line) => {
      if (!line.startsWith('{"ready":true')) return
      clearTimeout(late)
      done(JSON.parse(line))
    })
    ended.then(() => {
      clearTimeout(late)
      fail(new Error('ended before it was ready'))
    })
  })
}

/**
 * Asks for JSON.
 * @throws Error with status and body where the answer is not 2xx
 */
export async function readJson<T>(url: string, init: RequestInit = {}): Promise<T> {
  const response = await fetch(url, { signal: AbortSignal.timeout(60_000), ...init })
  const text = await response.text()
  if (!response.ok) throw new Error(`${url}: ${response.status} ${text.slice(0, SHOWN_CHARACTERS)}`)
  return JSON.parse(text) as T
}
