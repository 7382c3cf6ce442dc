/**
 * Runs a headless Chromium with one page, driven over its DevTools protocol as a person would: keys, pointer, window size,
 * colours. What the page logs goes to stderr, and its errors are kept.
 */
import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type DevTools, openDevTools } from './devtools.ts'
import { eventually } from './http/api-client.ts'

/** One page. */
export interface BrowserPage {
  /**
   * The value of the expression, awaited if it is a promise. Rejects with the page's error. Where the page goes elsewhere
   * meanwhile, the expression is evaluated once more, on the page that follows.
   */
  evaluate<T>(expression: string): Promise<T>
  /** What a person can read on it; empty while the page that comes next has no body yet. */
  text(): Promise<string>
  /** Loads an address in the page and waits until it is loaded. */
  open(url: string): Promise<void>
  /** Presses and releases a key, e.g. `j`, `Enter`, `Escape`, `Tab`, ` `, `Shift+Tab`. */
  press(key: string): Promise<void>
  /** Types text into what has the focus. */
  type(text: string): Promise<void>
  /** Waits for the element, moves the pointer to its middle and clicks. */
  click(selector: string): Promise<void>
  /** Moves the pointer over the element's middle. */
  point(selector: string): Promise<void>
  /** Changes what the page believes about screen and reader; what is left out stays as it was. */
  emulate(changes: Emulation): Promise<void>
  /** Puts another tab in front, or this one again: a page behind is hidden. */
  hide(isHidden: boolean): Promise<void>
  /** Calls a method of the DevTools protocol for this page. */
  call<T>(method: string, params?: object): Promise<T>
  /** Calls back with each event of the protocol, as of `Network` once it is enabled. */
  follow(onEvent: (method: string, params: unknown) => void): void
  /** The visible part as PNG. */
  screenshot(): Promise<Buffer>
  /** Exceptions and errors that the page has logged, policy violations among them. */
  errors(): readonly string[]
  /** Ends the whole browser. */
  [Symbol.asyncDispose](): Promise<void>
}

/** What may be emulated. */
export interface Emulation {
  dark?: boolean
  /** Of the window, CSS pixels. */
  width?: number
  height?: number
  /** Pixels of the screen for one CSS pixel: 2 in half the window is a zoom of 200 %. */
  scale?: number
  reducedMotion?: boolean
  forcedColors?: boolean
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
const USUAL: Required<Emulation> = {
  dark: false,
  width: 1440,
  height: 900,
  scale: 1,
  reducedMotion: false,
  forcedColors: false,
}

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
    const errors: string[] = []
    const address = await browserAddress(join(directory, 'DevToolsActivePort'))
    const followers = [(method: string, params: unknown): void => note(errors, method, params)]
    const devTools = await openDevTools(address, (method, params) => {
      for (const follower of followers) follower(method, params)
    })
    const page = await drivenPage(devTools, errors)
    await page.open(url)
    const follow: BrowserPage['follow'] = (onEvent) => void followers.push(onEvent)
    return { ...page, follow, [Symbol.asyncDispose]: end }
  } catch (error) {
    await end()
    throw error
  }
}

/** Keeps errors of the page; shows them and what it logs. */
function note(errors: string[], method: string, params: unknown): void {
  if (!/^(Runtime\.(consoleAPICalled|exceptionThrown)|Log\.entryAdded)$/.test(method)) return
  const text = JSON.stringify(params).slice(0, 2000)
  const { type, entry } = params as { type?: string; entry?: { level: string; source: string } }
  // Answers that refuse are logged by the browser as errors of the network.
  const isError = method === 'Runtime.exceptionThrown' || type === 'error' || entry?.level === 'error'
  if (isError && entry?.source !== 'network') errors.push(text)
  process.stderr.write(`page: ${text}\n`)
}

type Driven = Omit<BrowserPage, 'follow' | typeof Symbol.asyncDispose>

async function drivenPage({ ask }: DevTools, errors: readonly string[]): Promise<Driven> {
  const { targetId } = await ask<{ targetId: string }>('Target.createTarget', { url: 'about:blank' })
  const { sessionId } = await ask<{ sessionId: string }>('Target.attachToTarget', { targetId, flatten: true })
  const call = <T>(method: string, params: object = {}): Promise<T> => ask<T>(method, params, sessionId)
  await call('Runtime.enable')
  await call('Log.enable')
  await call('Page.enable')
  const evaluate = async <T>(expression: string): Promise<T> => {
    const request = { expression, awaitPromise: true, returnByValue: true }
    const answered = (): Promise<Evaluated<T>> => call('Runtime.evaluate', request)
    const { result, exceptionDetails } = await answered().catch((error) => {
      if (!WENT_ELSEWHERE.test(String(error))) throw error
      return answered()
    })
    if (exceptionDetails === undefined) return result.value
    throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text)
  }
  let emulated = { ...USUAL }
  const emulate = async (changes: Emulation): Promise<void> => {
    emulated = { ...emulated, ...changes }
    await applyEmulation(call, emulated)
  }
  await emulate({})
  const middleOf = async (selector: string): Promise<{ x: number; y: number }> =>
    await eventually(
      () => evaluate<{ x: number; y: number } | null>(`(${MIDDLE})(${JSON.stringify(selector)})`),
      (found) => found !== null,
      10_000,
    ).then((found) => found ?? { x: 0, y: 0 })
  const pointer = (type: string, at: { x: number; y: number }, button = 'none'): Promise<unknown> =>
    call('Input.dispatchMouseEvent', { type, ...at, button, clickCount: button === 'none' ? 0 : 1 })
  let other: string | null = null
  return {
    evaluate,
    text: () => evaluate<string>("document.body?.innerText ?? ''"),
    emulate,
    call,
    async open(url) {
      await call('Page.navigate', { url })
      await eventually(() => evaluate<string>('location.href + document.readyState'), isLoaded, START_MS)
    },
    press: (key) => pressKey(call, key),
    async type(text) {
      await call('Input.insertText', { text })
    },
    async point(selector) {
      await pointer('mouseMoved', await middleOf(selector))
    },
    async click(selector) {
      const at = await middleOf(selector)
      await pointer('mouseMoved', at)
      await pointer('mousePressed', at, 'left')
      await pointer('mouseReleased', at, 'left')
    },
    async hide(isHidden) {
      if (isHidden) {
        const made = await ask<{ targetId: string }>('Target.createTarget', { url: 'about:blank' })
        other = made.targetId
        await ask('Target.activateTarget', { targetId: other })
      } else {
        await ask('Target.activateTarget', { targetId })
        if (other !== null) await ask('Target.closeTarget', { targetId: other })
      }
    },
    async screenshot() {
      const { data } = await call<{ data: string }>('Page.captureScreenshot', { format: 'png' })
      return Buffer.from(data, 'base64')
    },
    errors: () => errors,
  }
}

/** How the protocol refuses what it was evaluating when the page was left. */
const WENT_ELSEWHERE = /Inspected target navigated or closed|Execution context was destroyed/

/** The middle of the first such element that is visible, in the window; null where there is none. */
const MIDDLE = `(selector) => {
  const shown = [...document.querySelectorAll(selector)].find((one) => one.getClientRects().length > 0)
  if (shown === undefined) return null
  shown.scrollIntoView({ block: 'nearest', inline: 'nearest' })
  const { x, y, width, height } = shown.getBoundingClientRect()
  return { x: x + width / 2, y: y + height / 2 }
}`

/** Keys whose code and number are not those of their character. */
const SPECIAL: Readonly<Record<string, number>> = {
  Enter: 13,
  Escape: 27,
  Tab: 9,
  Backspace: 8,
  ArrowDown: 40,
  ArrowUp: 38,
  ArrowLeft: 37,
  ArrowRight: 39,
  Home: 36,
  End: 35,
}

async function pressKey(
  call: <T>(method: string, params?: object) => Promise<T>,
  text: string,
): Promise<void> {
  const isShifted = text.startsWith('Shift+') || /^[A-Z?]$/.test(text)
  const key = text.replace('Shift+', '')
  const number = SPECIAL[key] ?? key.toUpperCase().charCodeAt(0)
  const typed = key === 'Enter' ? '\r' : SPECIAL[key] === undefined ? key : undefined
  const common = { key, windowsVirtualKeyCode: number, modifiers: isShifted ? 8 : 0 }
  const down = typed === undefined ? { type: 'rawKeyDown' } : { type: 'keyDown', text: typed }
  await call('Input.dispatchKeyEvent', { ...common, ...down })
  await call('Input.dispatchKeyEvent', { ...common, type: 'keyUp' })
}

async function applyEmulation(
  call: (method: string, params: object) => Promise<unknown>,
  { dark, width, height, scale, reducedMotion, forcedColors }: Required<Emulation>,
): Promise<void> {
  await call('Emulation.setDeviceMetricsOverride', {
    width,
    height,
    deviceScaleFactor: scale,
    mobile: false,
  })
  await call('Emulation.setEmulatedMedia', {
    features: [
      { name: 'prefers-color-scheme', value: dark ? 'dark' : 'light' },
      { name: 'prefers-reduced-motion', value: reducedMotion ? 'reduce' : 'no-preference' },
      { name: 'forced-colors', value: forcedColors ? 'active' : 'none' },
    ],
  })
}

/** Waits past the initial empty page until the page is completely loaded. */
function isLoaded(state: string): boolean {
  return state.startsWith('http') && state.endsWith('complete')
}

interface Evaluated<T> {
  result: { value: T }
  exceptionDetails?: { text: string; exception?: { description?: string } }
}

/** The file is written when the browser listens: its port, and the path of the protocol. */
async function browserAddress(file: string): Promise<string> {
  const read = (): string[] => (existsSync(file) ? readFileSync(file, 'utf8').split('\n') : [])
  const [port, path] = await eventually(read, (lines) => lines.length === 2, START_MS)
  return `ws://127.0.0.1:${port}${path}`
}
