/** Starts a bridge with its console over a sandbox, as processes and sockets of their own, and signs browsers in. */
import { systemClock } from '../../../src/lifecycle/clock.ts'
import { type Sandbox, type SandboxOptions, startSandbox } from '../../../src/sandbox/sandbox.ts'
import { type BridgeProcess, bridgeEnv, startBridge, temporaryDirectory } from '../bridge-process.ts'
import type { BrowserPage } from '../chromium.ts'
import { bearer, eventually } from '../http/api-client.ts'
import { type Publish, publisherOf } from '../product/published-items.ts'

/** A console to try. */
export interface ConsoleDesk extends AsyncDisposable {
  /** Address of the bridge; the same after `restart`. */
  url: string
  sandbox: Sandbox
  bridge: () => BridgeProcess
  /** Kills the bridge. */
  kill(): Promise<void>
  /** Starts it again, on the same port and with the same data. */
  restart(): Promise<void>
  /** An address that signs a browser in once. */
  link(): Promise<string>
  /** Signs the page in and shows a screen, e.g. `feed`. */
  show(page: BrowserPage, screen: string): Promise<void>
  /** Publishes items upstream. */
  publish: Publish
}

/** Starts it. */
export async function startConsoleDesk(
  options: Partial<SandboxOptions> = {},
  settings: Record<string, string> = {},
): Promise<ConsoleDesk> {
  const directory = temporaryDirectory()
  const sandbox = await startSandbox(
    { scenario: 'quiet', plan: 'advanced', weeklyQuota: 1_000_000, ...options },
    { clock: systemClock },
  )
  const env = bridgeEnv(sandbox, directory.path, {
    BRIDGE_UPSTREAM_PLAN: 'advanced',
    BRIDGE_BACKFILL: 'PT1H',
    BRIDGE_LOG_LEVEL: 'error',
    ...settings,
  })
  let bridge = await startBridge(env)
  const url = bridge.ready.http
  const link = async (): Promise<string> => {
    const response = await fetch(`${url}/v1/sessions/links`, { method: 'POST', headers: bearer })
    if (response.status !== 201) throw new Error(`${response.status} ${await response.text()}`)
    return ((await response.json()) as { url: string }).url
  }
  return {
    url,
    sandbox,
    bridge: () => bridge,
    async kill() {
      await bridge.stop('SIGKILL')
    },
    async restart() {
      bridge = await startBridge({ ...env, BRIDGE_HTTP_PORT: new URL(url).port })
    },
    link,
    async show(page, screen) {
      const isSignedIn = await page.evaluate<boolean>("fetch('/v1/me').then(({ ok }) => ok, () => false)")
      if (!isSignedIn) {
        await page.open(await link())
        await eventually(() => page.evaluate<boolean>("document.querySelector('.frame') !== null"), Boolean)
      }
      await page.open(`${url}/console/${screen}`)
      await eventually(() => page.evaluate<boolean>("document.querySelector('h1') !== null"), Boolean)
    },
    publish: publisherOf(sandbox),
    async [Symbol.asyncDispose]() {
      await bridge.stop('SIGKILL')
      await sandbox.close()
      directory[Symbol.dispose]()
    },
  }
}
