/**
 * Runs the product as a separate process: started as an operator starts it, stopped or killed by pid, with its ready
 * line and output recorded.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { endWithTests } from './children.ts'

const MAIN = resolve(import.meta.dirname, '../../src/main.ts')
export const ADMIN_TOKEN = 'test-admin-token-0123456789'
export const SECRET_KEY = 'test-secret-key-0123456789-0123456789'

export interface Ready {
  ready: true
  http: string
  ops: string
  roles: string[]
  log: string
}

export interface BridgeProcess extends CommandProcess {
  readonly pid: number
  readonly ready: Ready
}

/** A directory that is deleted after the test. */
export function temporaryDirectory(): { path: string; [Symbol.dispose](): void } {
  const path = mkdtempSync(join(tmpdir(), 'bridge-test-'))
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) }
}

/** The environment of a bridge on free ports against that upstream, with a quota for a poll every second. */
export function bridgeEnv(
  upstream: { url: string; key: string },
  dataDir: string,
  extra: Record<string, string> = {},
): Record<string, string> {
  return {
    BRIDGE_DATA_DIR: dataDir,
    BRIDGE_UPSTREAM_URL: upstream.url,
    BRIDGE_UPSTREAM_KEY: upstream.key,
    BRIDGE_HTTP_PORT: '0',
    BRIDGE_OPS_PORT: '0',
    BRIDGE_ADMIN_TOKEN: ADMIN_TOKEN,
    BRIDGE_SECRET_KEY: SECRET_KEY,
    BRIDGE_UPSTREAM_WEEKLY_QUOTA: '1000000',
    BRIDGE_BACKFILL: 'PT0S',
    BRIDGE_DRAIN_TIMEOUT: 'PT2S',
    ...extra,
  }
}

/** Runs `bridge <args>` to its end. */
export async function runToEnd(
  args: string[],
  env: Record<string, string>,
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const child = spawnBridge(args, env)
  const output = collect(child)
  const code = await exitOf(child)
  return { code, stdout: output.stdout, stderr: output.stderr }
}

/** A command that runs until it is stopped. */
export interface CommandProcess {
  readonly child: ChildProcess
  /** The exit code, null after a kill. */
  readonly ended: Promise<number | null>
  stdout(): string
  stderr(): string
  /** Sends the signal and resolves with the exit code, null after a kill. */
  stop(signal?: NodeJS.Signals): Promise<number | null>
}

/** Starts `bridge <args>`; `inside` is prefixed to the command. */
export function startCommand(
  args: string[],
  env: Record<string, string>,
  script: string = MAIN,
  inside: readonly string[] = [],
): CommandProcess {
  return followProcess(spawnBridge(args, env, script, inside))
}

/** Records what a process writes from now on, and its end. */
export function followProcess(child: ChildProcess): CommandProcess {
  const output = collect(child)
  const ended = exitOf(child)
  return {
    child,
    ended,
    stdout: () => output.stdout,
    stderr: () => output.stderr,
    stop(signal = 'SIGTERM') {
      child.kill(signal)
      return ended
    },
  }
}

/** Starts `bridge run`, or another script in its place, and waits for its ready line. Rejects with its output when it ends before. */
export async function startBridge(
  env: Record<string, string>,
  args = ['run'],
  script: string = MAIN,
  inside: readonly string[] = [],
): Promise<BridgeProcess> {
  const command = startCommand(args, env, script, inside)
  const ready = await readyLine(command)
  return { ...command, pid: command.child.pid ?? 0, ready }
}

/** Waits for the ready line of a bridge. Rejects with its output when it ends before. */
export function readyLine(command: CommandProcess): Promise<Ready> {
  return new Promise<Ready>((done, fail) => {
    command.child.stdout?.on('data', () => {
      const line = command
        .stdout()
        .split('\n')
        .find((text) => text.startsWith('{"ready":true'))
      if (line !== undefined) done(JSON.parse(line) as Ready)
    })
    command.ended.then((code) =>
      fail(new Error(`ended with ${code} before it was ready\n${command.stdout()}\n${command.stderr()}`)),
    )
  })
}

function spawnBridge(
  args: string[],
  env: Record<string, string>,
  script: string = MAIN,
  inside: readonly string[] = [],
): ChildProcess {
  const { PATH = '', HOME = '' } = process.env
  const [file = process.execPath, ...rest] = [...inside, process.execPath, script, ...args]
  return spawn(file, rest, {
    env: { PATH, HOME, ...env },
    cwd: env.BRIDGE_DATA_DIR ?? tmpdir(),
    // A test script may take orders over IPC; the product takes none.
    stdio: ['ignore', 'pipe', 'pipe', ...(script === MAIN ? [] : ['ipc' as const])],
  })
}

function collect(child: ChildProcess): { stdout: string; stderr: string } {
  const output = { stdout: '', stderr: '' }
  child.stdout?.on('data', (chunk: Buffer) => {
    output.stdout += chunk.toString()
  })
  child.stderr?.on('data', (chunk: Buffer) => {
    output.stderr += chunk.toString()
  })
  return output
}

/** Its exit code. A test that fails half way leaves no process behind. */
function exitOf(child: ChildProcess): Promise<number | null> {
  endWithTests(child)
  return new Promise((done) => child.once('close', (code) => done(code)))
}
