/**
 * Starts a Redis for one bench, configured as for queues: every write in the append-only file, synced each second.
 * Redis must be installed.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { temporaryDirectory } from '../../test/support/bridge-process.ts'
import { freePorts } from '../../test/support/kafka/runtime/ports.ts'

/** The line it prints when it accepts connections. */
const READY = 'Ready to accept connections'

/** A running Redis. Disposing of it stops it and deletes its data. */
export interface Redis extends AsyncDisposable {
  pid: number
  /** Of 127.0.0.1. */
  port: number
}

/**
 * Starts `redis-server` and waits until it takes connections. Nothing is ever evicted: that is its default.
 * @throws Error with its output when it does not come up
 */
export async function startRedis(): Promise<Redis> {
  const directory = temporaryDirectory()
  const [port = 0] = await freePorts(1)
  const settings = ['--appendonly', 'yes', '--appendfsync', 'everysec', '--save', '']
  const child = spawn(
    'redis-server',
    ['--bind', '127.0.0.1', '--port', String(port), '--dir', directory.path, ...settings],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  )
  const end = (): void => void child.kill('SIGKILL')
  // A bench that fails half way leaves no process behind.
  process.once('exit', end)
  const ended = once(child, 'close')
  const [up, output] = await isReady(child.stdout)
  if (!up) {
    directory[Symbol.dispose]()
    throw new Error(`redis-server has ended:\n${output}`)
  }
  return {
    pid: child.pid ?? 0,
    port,
    async [Symbol.asyncDispose]() {
      end()
      await ended
      process.off('exit', end)
      directory[Symbol.dispose]()
    },
  }
}

/** Whether it started, and its output until then or until its end. */
async function isReady(stdout: NodeJS.ReadableStream): Promise<[boolean, string]> {
  let output = ''
  return await new Promise((resolve) => {
    stdout.on('data', (chunk: Buffer) => {
      output += chunk.toString()
      if (output.includes(READY)) resolve([true, output])
    })
    stdout.once('close', () => resolve([false, output]))
  })
}
