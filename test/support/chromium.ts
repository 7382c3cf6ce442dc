/** Runs a headless Chromium with one page, driven over its DevTools protocol. What the page logs goes to stderr. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { WebSocket } from 'ws'
import { eventually } from './http/api-client.ts'

/** One page. */
export interface BrowserPage {
  /** The value of the expression, awaited if it is a promise. Rejects with the page's error. */
  evaluate<T>(expression: string): Promise<T>
  /** Ends the whole browser. */
  [Symbol.asyncDispose](): Promise<void>
}

const FLAGS = [
  '--headless',
  '--remote-debugging-port=0',
  '--no-sandbox',
  '--no-first-run',
  '--disable-gpu',
  '--disable-dev-shm-usage',
  '--disable-extensions',
  '--disable-background-networking',
  '--disable-component-update',
  '--password-store=basic',
]
/** A cold start beside other work took 6 s. */
const START_MS = 60_000

/** Starts Chromium and opens the page. */
export async function openInChromium(url: string): Promise<BrowserPage> {
  const directory = mkdtempSync(join(tmpdir(), 'bridge-chromium-'))
  const child = spawn('chromium', [...FLAGS, `--user-data-dir=${directory}`], {
    env: { PATH: process.env.PATH, HOME: directory },
    stdio: 'ignore',
    // A separate process group: its helper processes end with it.
    detached: true,
  })
  const ended = new Promise((resolve) => child.once('close', resolve).once('error', resolve))
  const kill = (): void => {
    const runs = child.exitCode === null && child.signalCode === null
    if (runs && child.pid !== undefined) process.kill(-child.pid, 'SIGKILL')
  }
  process.once('exit', kill)
  const end = async (): Promise<void> => {
    process.off('exit', kill)
    kill()
    await ended
    // Ending helper processes still write for a moment.
    rmSync(directory, { recursive: true, force: true, maxRetries: 20 })
  }
  try {
    const ask = await openDevTools(await browserAddress(join(directory, 'DevToolsActivePort')))
    const { targetId } = await ask<{ targetId: string }>('Target.createTarget', { url })
    const { sessionId } = await ask<{ sessionId: string }>('Target.attachToTarget', {
      targetId,
      flatten: true,
    })
    await ask('Runtime.enable', {}, sessionId)
    const evaluate = async <T>(expression: string): Promise<T> => {
      const request = { expression, awaitPromise: true, returnByValue: true }
      const { result, exceptionDetails } = await ask<Evaluated<T>>('Runtime.evaluate', request, sessionId)
      if (exceptionDetails === undefined) return result.value
      throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text)
    }
    await eventually(() => evaluate<string>('location.href + document.readyState'), isLoaded, START_MS)
    return { evaluate, [Symbol.asyncDispose]: end }
  } catch (error) {
    await end()
    throw error
  }
}

/** Waits past the initial empty page until the page is completely loaded. */
function isLoaded(state: string): boolean {
  return state.startsWith('http') && state.endsWith('complete')
}

interface Evaluated<T> {
  result: { value: T }
  exceptionDetails?: { text: string; exception?: { description?: string } }
}

/** Calls a method of the protocol. Rejects with the browser's error. */
type Ask = <T>(method: string, params: object, sessionId?: string) => Promise<T>

/** A response has an `id`, an event a `method`. */
interface DevToolsMessage {
  id?: number
  method?: string
  params?: unknown
  result?: unknown
  error?: { message: string }
}

async function openDevTools(address: string): Promise<Ask> {
  const socket = new WebSocket(address)
  await once(socket, 'open')
  const waiting = new Map<number, (message: DevToolsMessage) => void>()
  let asked = 0
  socket.on('message', (data) => {
    const message = JSON.parse(String(data)) as DevToolsMessage
    if (/^Runtime\.(consoleAPICalled|exceptionThrown)$/.test(message.method ?? ''))
      process.stderr.write(`page: ${JSON.stringify(message.params).slice(0, 2000)}\n`)
    waiting.get(message.id ?? 0)?.(message)
    waiting.delete(message.id ?? 0)
  })
  // `close` follows.
  socket.on('error', () => {})
  socket.on('close', () => {
    for (const answer of waiting.values()) answer({ error: { message: 'the browser is gone' } })
  })
  return <T>(method: string, params: object, sessionId?: string) => {
    asked += 1
    const id = asked
    return new Promise<T>((resolve, reject) => {
      waiting.set(id, ({ result, error }) =>
        error === undefined ? resolve(result as T) : reject(new Error(`${method}: ${error.message}`)),
      )
      socket.send(JSON.stringify({ id, method, params, sessionId }))
    })
  }
}

/** The file is written when the browser listens: its port, and the path of the protocol. */
async function browserAddress(file: string): Promise<string> {
  const read = (): string[] => (existsSync(file) ? readFileSync(file, 'utf8').split('\n') : [])
  const [port, path] = await eventually(read, (lines) => lines.length === 2, START_MS)
  return `ws://127.0.0.1:${port}${path}`
}
