/**
 * Takes the pictures of the console in this folder, in light and dark: `node docs/console/screenshots.ts`, or only those that are named. It runs a sandbox with
 * a story of its own, a bridge and Chromium; a picture shows what a reader would see after a quarter of a minute.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DAY_MS } from '../../src/core/durations.ts'
import { systemClock } from '../../src/lifecycle/clock.ts'
import { type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts'
import {
  ADMIN_TOKEN,
  type BridgeProcess,
  bridgeEnv,
  startBridge,
  temporaryDirectory,
} from '../../test/support/bridge-process.ts'
import { type BrowserPage, openInChromium } from '../../test/support/chromium.ts'
import { openSignedIn, untilShown } from '../../test/support/console/console-browser.ts'
import { bearer, eventually, pullAll } from '../../test/support/http/api-client.ts'
import { askEndpoints, LOCAL_RECEIVERS } from '../../test/support/webhooks/endpoint-api.ts'
import { startReceiver } from '../../test/support/webhooks/webhook-receiver.ts'

const GUID = 'urn:newsml:example:story:1'
const PLAN = 'advanced'
const WINDOW = { width: 1280, height: 860 }
/** A page shows its first figures at once; the request that brought an item is known to it ten seconds later. */
const SETTLED_MS = 12_000
interface Picture {
  name: string
  path: string
  /** A text that says that the screen is there. */
  shown: string
  quota: keyof typeof QUOTAS
}

const PICTURES: readonly Picture[] = [
  {
    name: 'item',
    path: `/console/item/${encodeURIComponent(`${GUID}#2`)}`,
    shown: 'not for it',
    quota: 'demo',
  },
  { name: 'webhooks', path: '/console/webhooks', shown: 'staging receiver', quota: 'demo' },
  { name: 'webhook', path: '/console/webhooks/{failing}', shown: 'receiver failed', quota: 'demo' },
  { name: 'streams', path: '/console/streams', shown: 'dashboards', quota: 'demo' },
  { name: 'tokens', path: '/console/tokens', shown: 'order management', quota: 'demo' },
  { name: 'overview', path: '/console/', shown: 'Is it working', quota: 'demo' },
  { name: 'feed', path: '/console/feed', shown: 'Live feed', quota: 'demo' },
  { name: 'status', path: '/console/status', shown: 'Open gaps', quota: 'demo' },
  // The leader has written its report by then.
  { name: 'day', path: '/console/day', shown: 'In figures', quota: 'demo' },
  { name: 'quota', path: '/console/quota', shown: 'Other plans', quota: 'plan' },
]

/** The weekly quota of the demo, for a poll every second; and that of the plan, with which there is something to plan. */
const QUOTAS = { demo: 1_000_000, plan: 3500 } as const

await using well = await startReceiver()
await using failing = await startReceiver((response) => response.writeHead(503).end())
const named = process.argv.slice(2)
for (const [name, weeklyQuota] of Object.entries(QUOTAS)) {
  const wanted = PICTURES.filter(
    (picture) => picture.quota === name && (named.length === 0 || named.includes(picture.name)),
  )
  if (wanted.length > 0) await takePictures(wanted, weeklyQuota)
}

async function takePictures(pictures: readonly Picture[], weeklyQuota: number): Promise<void> {
  using directory = temporaryDirectory()
  const sandbox = await startSandbox(
    { scenario: 'demo', plan: PLAN, weeklyQuota, seed: 5 },
    { clock: systemClock },
  )
  const settings = {
    BRIDGE_UPSTREAM_PLAN: PLAN,
    BRIDGE_UPSTREAM_WEEKLY_QUOTA: `${weeklyQuota}`,
    BRIDGE_BACKFILL: 'P1D',
    BRIDGE_LOG_LEVEL: 'error',
    ...LOCAL_RECEIVERS,
  }
  const bridge = await startBridge(bridgeEnv(sandbox, directory.path, settings))
  try {
    const failingId = weeklyQuota === QUOTAS.demo ? await tellStory(sandbox, bridge) : ''
    await using page = await openInChromium(`${bridge.ready.http}/console/`)
    for (const picture of pictures) {
      const path = picture.path.replace('{failing}', failingId)
      for (const dark of [false, true]) await takePicture(page, { ...picture, path }, dark)
    }
  } finally {
    await bridge.stop()
    await sandbox.close()
  }
}

/**
 * An announcement with a correction, three endpoints (one takes it, one fails, one does not want it), a token and its stream.
 * Returns the id of the endpoint that fails.
 */
async function tellStory(sandbox: Sandbox, bridge: BridgeProcess): Promise<string> {
  // The clock of the demo's market skips the quiet minutes before its second burst.
  await eventually(sandbox.marketNow, (ms) => new Date(ms).toISOString().slice(11) > '07:10:20', 120_000)
  const create = (url: string, description: string, filter: object = {}) =>
    askEndpoints(bridge.ready.http, 'POST', '', { url, description, filter })
  await create(well.url, 'production receiver')
  const { id: failingId } = await create(failing.url, 'staging receiver', { importance: ['high', 'ultra'] })
  await create(well.url, 'dividends only', { fcaCategories: ['DIV'] })
  for (const [headline, id] of [
    ['Final Results', GUID],
    ['Final Results - Replacement', `${GUID}#2`],
  ] as const) {
    sandbox.publish([
      {
        guid: GUID,
        timestamp: new Date(sandbox.marketNow()).toISOString(),
        headline,
        source: 'RNS',
        rnsId: '1234A',
        issuer: {
          name: 'Wharfedale Lithium PLC',
          lei: '2138ABVBG7EFM0HH5W53',
          instrument: { isin: 'GB00BH4HKS39', symbol: { mnemonic: 'WHL' } },
        },
        category: [{ kind: 'FCA', code: 'FR', name: 'Final Results', importance: 'ultra' }],
        publication: [{ url: 'https://documents.example/whl/results.html', mime: 'text/html' }],
      },
    ])
    await eventually(
      () => pullAll(bridge.ready.http),
      (events) => events.some((event) => event.id === id),
      120_000,
    )
  }
  await readLive(bridge.ready.http)
  return failingId
}

/** Makes a token, and reads a stream with it until the bridge ends. */
async function readLive(base: string): Promise<void> {
  const make = async (body: object): Promise<string> => {
    const headers = { ...bearer, 'content-type': 'application/json' }
    const response = await fetch(`${base}/v1/tokens`, { method: 'POST', headers, body: JSON.stringify(body) })
    return ((await response.json()) as { token: string }).token
  }
  const scopes = ['events:read']
  const token = await make({ tenant: 'desk', name: 'dashboards', scopes })
  await make({
    tenant: 'desk',
    name: 'order management',
    scopes: [...scopes, 'webhooks:read', 'webhooks:write'],
    expiresAt: new Date(systemClock.now() + 90 * DAY_MS).toISOString(),
  })
  const address = `${base}/v1/events?filter=${encodeURIComponent('{"importance":"high+"}')}`
  const isOpen = async (): Promise<boolean> => {
    const response = await fetch(address, { headers: { authorization: `Bearer ${token}` } })
    // Ends with the bridge.
    response.text().catch(() => {})
    return response.ok
  }
  // A token that was made just now is known within a second.
  await eventually(isOpen, Boolean, 5000)
}

async function takePicture(page: BrowserPage, { name, path, shown }: Picture, dark: boolean): Promise<void> {
  await page.emulate({ ...WINDOW, dark })
  await openSignedIn(page, path, ADMIN_TOKEN)
  await untilShown(page, 'main', shown)
  await new Promise<void>((resolve) => void systemClock.after(SETTLED_MS, resolve))
  const file = join(import.meta.dirname, `${name}-${dark ? 'dark' : 'light'}.png`)
  writeFileSync(file, await page.screenshot())
  process.stderr.write(`${file}\n`)
}
